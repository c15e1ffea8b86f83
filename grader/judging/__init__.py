"""Turns the outcomes of runs into a verdict for each case and one for the submission.

    cases         a stdin case, or one that was not run
    calls         calls of a function, by the returned values
    expressions   comparisons in other languages than Python
    script_run    the cases of a script
    pytest_run    the tests of pytest suites
    summary       the submission as a whole

Nothing of the submission runs here. Reports of scripts and of pytest come from a process that the
submission may have shared, so they count only if they are complete and consistent.
"""
