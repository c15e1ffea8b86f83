"""The client of a running `grader serve`.

`address` parses its address, `connections` keeps connections to it, `repeated_request` repeats
a request until it is answered, and `grader` offers that as a grader. Needs only the standard
library, so it works in a trainer that has no optional packages.
"""
