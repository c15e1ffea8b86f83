"""Tests in one process, the submission in another: only plain data crosses.

    channel     messages between the two
    plain       which values may cross, and how
    candidate   the submission's end: it loads the submission, and calls what the tests call
    judge       the tests' end: stand-ins for the submission's functions
    statuses    how a judge ends that has more to say than its report

The candidate is hostile and may send anything at any time. All that reaches the tests is plain
data that this side built itself.
"""
