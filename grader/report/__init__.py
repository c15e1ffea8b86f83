"""Graded samples made readable: for a terminal, for one file, and for pages that are served.

    reasons   why a report says what it says, and what would have earned more
    sample    one graded sample as a view: everything that any page of it shows
    rows      rows of a graded file, read back
    index     all of its rows: what tables need, and where each stands
    batch     what they come to; `flips` against another file; `charts` drawn
    pages     templates to HTML, with what hostile text needs
    document  the report of a file: in one file, or in parts for `serve`

A view holds text as it came. Whoever shows it makes it visible (`grader.text.visible`): the
templates' filters do, and so does the terminal.
"""
