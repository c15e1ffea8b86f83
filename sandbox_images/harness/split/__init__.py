"""Tests in one process, the submission in another: what makes a verdict unforgeable.

    channel     messages between the two, one conversation with calls nested in calls
    codec       values on the channel: plain data by value, everything else by reference
    candidate   the submission's end: it serves calls, attributes and operators (`operations`), has
                `streams` for standard ones and a `remote` for each object of the tests
    judge       the tests' end: it asks, and answers callbacks
    lending     what the submission may do with an object of the tests
    library     what of the standard library crosses by name
    branches    a copy of the submission for each test, which its process makes by `forking`
    environment what the tests set there
    proxies     what the tests hold in place of the submission's objects and classes, with `special`
                methods, made by the `factory`
    scope       which names a suite takes without asking for each

The candidate is hostile and may send anything at any time. All that reaches the tests is plain
data that this side built itself, or a proxy that never equals plain data.
"""
