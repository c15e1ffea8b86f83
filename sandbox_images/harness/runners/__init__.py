"""What a run's process does with the submission: one module per kind of program."""

from sandbox_images.harness.lock_in.confinement import ConfinedRun
from sandbox_images.harness.runners import (
    call,
    command,
    judging,
    script,
    serve,
    session,
    standing,
    stdin,
)
from sandbox_images.harness.runners.events import Reporter

_RUNNERS = {
    "stdin": stdin.run,
    "call": call.run,
    "compile": command.compile_program,
    "command": command.run,
    "script": script.run,
    "judge_script": script.judge,
    "judge_scripts": standing.serve_scripts,
    "serve_pytest": serve.run,
    "serve_script": serve.run,
    "session": session.serve,
}


def execute(run: ConfinedRun) -> None:
    """Carry out the run and end the process."""
    _RUNNERS[run.program](run, Reporter(run.report))
    judging.end(0)
