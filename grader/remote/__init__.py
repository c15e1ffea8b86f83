"""The client of a running `grader serve`.

`address` reads where it is, `connections` keeps connections to it, `delivery` insists until there
is an answer, and `grader` puts that behind the methods that all graders have. Needs nothing but
the standard library: it works in a trainer that has only this package.
"""
