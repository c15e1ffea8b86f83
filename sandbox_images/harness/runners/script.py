"""Run the suite's statements over the submission's names, in its process or in another."""

import json
import linecache
import os
import types
from typing import Any

from sandbox_images.harness.confinement import Run
from sandbox_images.harness.runners import judging, loading
from sandbox_images.harness.runners.events import Reporter, describe
from sandbox_images.harness.split.factory import Proxies
from sandbox_images.harness.split.judge import Judge
from sandbox_images.harness.split.scope import Scope
from sandbox_images.harness.split.told import Loaded


def run(run: Run, reporter: Reporter) -> None:
    """Load the source, run every case in its namespace, and report each."""
    code = loading.compile_source(run.bundle, reporter)
    path = loading.path_of(run.bundle)
    if code is not None:
        module = loading.new_module("solution", run.bundle)
        try:
            exec(code, module.__dict__)  # noqa: S102 - this is what the sandbox is for
        except BaseException as error:  # noqa: BLE001 - whatever the submission raised
            reporter.exception("load", error, path)
        else:
            reporter.emit("loaded")
            if _run_cases(_read_payload(run), module.__dict__, path, reporter):
                reporter.emit("done")


def judge(run: Run, reporter: Reporter) -> Proxies:
    """Run every case with proxies of the submission's names in its namespace; return those."""
    with judging.beginning():
        payload = _read_payload(run)
        sources = [payload["setup"], *payload["cases"]]
        conversation = judging.connect(run, sources, reporter)
    _judge_cases(payload, sources, loading.path_of(run.bundle), reporter, conversation)
    conversation.close()
    return conversation.proxies


def _judge_cases(
    payload: dict[str, Any], sources: list[str], path: str, reporter: Reporter, conversation: Judge
) -> None:
    loaded = judging.load(conversation, reporter)
    if isinstance(loaded, BaseException):
        reporter.exception("load", loaded, path)
    if not isinstance(loaded, Loaded):
        return
    reporter.emit("loaded")
    taken = Scope(sources, conversation.named).of_script(loaded.names)
    module = types.ModuleType("solution")
    module.__dict__.update(taken.own)
    module.__dict__.update((name, conversation.get(None, name)) for name in taken.names)
    if _run_cases(payload, module.__dict__, path, reporter, conversation):
        reporter.emit("done")


def _read_payload(run: Run) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(os.pread(run.payload, os.fstat(run.payload).st_size, 0))
    return payload


def _run_cases(
    payload: dict[str, Any],
    namespace: dict[str, Any],
    path: str,
    reporter: Reporter,
    conversation: Judge | None = None,
) -> bool:
    """Run setup and cases; tell whether the end was reached."""
    try:
        if payload["setup"]:
            exec(_compile(payload["setup"], "setup"), namespace)  # noqa: S102 - the suite's own
    except BaseException as error:  # noqa: BLE001 - whatever the submission raised
        reporter.exception("setup", error, path)
        return False
    last = len(payload["cases"]) - 1
    apart = last > 0 and conversation is not None and _are_apart(payload, conversation, reporter)
    for index, source in enumerate(payload["cases"]):
        # The last needs no copy: nothing follows that it could disturb.
        with judging.branch(conversation if apart and index != last else None):
            outcome = _run_case(index, source, namespace, path)
        if conversation is not None:
            outcome = judging.spoil(conversation, outcome)
        reporter.emit("case", i=index, **outcome)
        if payload["stop_early"] and outcome["outcome"] != "passed":
            return False
    if conversation is not None and conversation.branches.failed:
        reporter.emit("state", per="suite")
    return True


def _are_apart(payload: dict[str, Any], conversation: Judge, reporter: Reporter) -> bool:
    """Tell whether each case is to have a copy of the submission; report what holds without."""
    apart = bool(payload["branch"]) and conversation.can_branch()
    fresh = apart or not (payload["branch"] or conversation.branches.have_objects())
    reporter.emit("state", per="test" if fresh else "suite")
    return apart


def _run_case(index: int, source: str, namespace: dict[str, Any], path: str) -> dict[str, str]:
    try:
        exec(_compile(source, f"case {index}"), namespace)  # noqa: S102 - as above
    except AssertionError as error:
        return {"outcome": "failed", **_describe_assertion(error, index, path)}
    except BaseException as error:  # noqa: BLE001 - whatever the submission raised
        return {"outcome": "error", **describe(error, path)}
    return {"outcome": "passed"}


def _compile(source: str, name: str) -> Any:
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return compile(source, filename, "exec", dont_inherit=True)


def _describe_assertion(error: AssertionError, index: int, path: str) -> dict[str, str]:
    """Describe a failed assertion, which seldom has a message, by the line that failed."""
    description = describe(error, path)
    if not description["message"]:
        tb, line = error.__traceback__, ""
        while tb is not None:
            if tb.tb_frame.f_code.co_filename == f"<case {index}>":
                line = linecache.getline(f"<case {index}>", tb.tb_lineno).strip()
            tb = tb.tb_next
        description["message"] = line[:500]
    return description
