"""Run the submission, then the suite's statements in its namespace: integrity "shared"."""

import json
import linecache
import os
import sys
from typing import Any, NoReturn

from sandbox_images.harness.confinement import Run
from sandbox_images.harness.runners import loading
from sandbox_images.harness.runners.events import Reporter, describe


def run(run: Run, reporter: Reporter) -> NoReturn:
    """Load the source, run every case, report each, and end."""
    code = loading.compile_source(run.bundle, reporter)
    if code is not None and _load(run, code, reporter):
        reporter.emit("done")
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: BLE001 - the submission may have replaced the stream
            pass
    os._exit(0)


def _load(run: Run, code: Any, reporter: Reporter) -> bool:
    """Run everything; tell whether the end was reached."""
    path = loading.path_of(run.bundle)
    module = loading.new_module("solution", run.bundle)
    namespace = module.__dict__
    where = "load"
    try:
        exec(code, namespace)  # noqa: S102 - this is what the sandbox is for
        reporter.emit("loaded")
        where = "setup"
        payload = json.loads(os.pread(run.payload, os.fstat(run.payload).st_size, 0))
        if payload["setup"]:
            exec(_compile(payload["setup"], "setup"), namespace)  # noqa: S102 - as above
    except BaseException as error:  # noqa: BLE001 - whatever the submission raised
        reporter.exception(where, error, path)
        return False
    for index, source in enumerate(payload["cases"]):
        outcome = _run_case(index, source, namespace, path)
        reporter.emit("case", i=index, **outcome)
        if payload["stop_early"] and outcome["outcome"] != "passed":
            return False
    return True


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
