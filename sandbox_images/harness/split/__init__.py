"""Tests in one process, the submission in another: only plain data crosses.

    channel     messages between the two
    plain       which values may cross, and how
    candidate   the submission's end: it loads the submission, and calls what the tests call
    judge       the tests' end: stand-ins for the submission's functions
    statuses    exit statuses by which a judge tells the supervisor something

The candidate is hostile and may send anything at any time. The tests only get plain data, which the
judge's side builds itself.
"""
