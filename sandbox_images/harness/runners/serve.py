"""Be the candidate: load the submission, and make the calls that the judge asks for."""

import types
from types import CodeType
from typing import Any, NoReturn

from sandbox_images.harness.lock_in.confinement import ConfinedRun
from sandbox_images.harness.runners import judging, loading
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.split.candidate import Candidate
from sandbox_images.harness.split.channel import Channel, ChannelClosed


def run(run: ConfinedRun, _reporter: Reporter) -> NoReturn:
    """Serve until the tests are over."""
    if run.program == "serve_pytest":
        judging.limit_digits()
    try:
        candidate_of(run).serve()
    except ChannelClosed:
        pass
    judging.end(0)


def candidate_of(run: ConfinedRun) -> Candidate:
    """Return the candidate, which has loaded nothing yet."""

    def load() -> types.ModuleType | dict[str, Any]:
        code = loading.try_to_compile(run.bundle)
        if not isinstance(code, CodeType):
            return code
        module = loading.new_module(loading.module_name(run.bundle.source_path), run.bundle)
        exec(code, module.__dict__)  # noqa: S102 - this is what the sandbox is for
        return module

    return Candidate(Channel(run.connection), load, loading.path_of(run.bundle))
