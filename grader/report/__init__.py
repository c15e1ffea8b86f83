"""Show graded samples: on a terminal, as a page in one file, and as pages that are served.

    reasons   why a report says what it says, and what would have earned more
    sample    one graded sample as a view: everything that any page of it shows
    rows      rows of a graded file, read back
    files     the lines of a file or of a folder, gzipped or not
    index     all rows: the fields for tables, and the offset of each row
    batch     summary of a file; `charts` draws it
    trends    how the figures move over training steps; `timeline` draws them
    flips     samples with another verdict in another file; `comparison` compares all figures
    export    a run as a table; `trackers` writes its figures to experiment trackers
    pages     templates to HTML, safe for hostile text
    document  the report of a file: in one file, or in parts for `serve`

A view has texts unchanged. The templates' filters and the terminal pass them through
`grader.text.visible`.
"""
