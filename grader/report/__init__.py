"""Show graded samples: on a terminal, as a page in one file, and as pages that are served.

    reasons   why a report says what it says, and what would have earned more
    sample    one graded sample as a view: everything that any page of it shows
    rows      rows of a graded file, read back
    index     all rows: the fields for tables, and the offset of each row
    batch     summary of a file; `flips` compares two files; `charts` draws
    pages     templates to HTML, safe for hostile text
    document  the report of a file: in one file, or in parts for `serve`

A view has texts unchanged. The templates' filters and the terminal pass them through
`grader.text.visible`.
"""
