"""The service's page: how the service is, why samples got their rewards, and a playground.

    pulse       every two seconds: what changed in the counts of `grader.server.metrics`, and
                the state of slots, queue and workers, kept in bounded rings (`beats`)
    roster      workers that left, and those that were lost
    concerns    what of all that a person should look at
    charts      figures over time as SVG (`board` draws them once for everybody)
    audience    those who look, and what is sent to them
    view        all of it as JSON in server-sent events
    routes      the endpoints
    static      the page's scripts and its style

Nothing is measured here a second time. docs/live-page.md tells what a person sees of it.
"""
