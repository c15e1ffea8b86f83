"""The grader as an HTTP service: `grader serve`.

One process: an event loop reads requests and writes responses, and threads grade. The loop never
blocks on grading: a request that waits takes up its body and a few small records, but no thread.
docs/server.md has the endpoints; `make_app` puts the parts together.
"""
