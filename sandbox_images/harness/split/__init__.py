"""Tests in one process, the submission in another: what makes a verdict unforgeable.

    channel     messages between the two, one conversation with calls nested in calls
    codec       values on the channel: plain data by value, everything else by reference
    candidate   the submission's end: it serves calls, attributes and operators
    judge       the tests' end: it asks, and answers callbacks
    proxies     what the tests hold in place of the submission's objects and classes

The candidate is hostile and may send anything at any time. All that reaches the tests is plain
data that this side built itself, or a proxy that never equals plain data.
"""
