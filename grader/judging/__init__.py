"""Turns the outcomes of runs into a verdict for each case and one for the submission.

Nothing of the submission runs here. Reports of scripts and of pytest come from a process that the
submission may have shared, so they count only if they are complete and consistent.

    stdin     cases.judge_stdin, once per run
    call      calls.judge_call, or calls.judge_calls, once per run
    script    script_run.judge_script
    pytest    pytest_run.judge_pytest
    any       summary.summarise
"""
