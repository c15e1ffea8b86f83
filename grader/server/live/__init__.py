"""The live page: the state of the service, why samples got their rewards, and a playground.

    monitor         every two seconds: what changed in the counts of `grader.server.metrics`, and
                    the state of slots, queue and workers, kept in bounded histories (`intervals`)
    worker_history  workers that left, and workers that were lost
    alerts          what needs attention
    charts          figures over time as SVG
    subscribers     the open pages, and the messages for them
    view            all of it as JSON in server-sent events
    routes          the endpoints
    static          the page's scripts and its style

The page measures nothing itself. docs/live-page.md describes what it shows.
"""
