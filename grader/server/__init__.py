"""The grader as an HTTP service: `grader serve`.

One process: an event loop that reads requests and writes answers, and threads that grade. The
loop never waits for a grading; a request that has to wait costs its body, a few small records
and no thread. docs/server.md has the endpoints; `make_app` puts it all together.
"""
