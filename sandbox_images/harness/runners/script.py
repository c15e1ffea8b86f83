"""Run the suite's statements over the submission's names, in its process or in another."""

import json
import linecache
import os
import types
from typing import Any

from sandbox_images.harness.lock_in.confinement import ConfinedRun
from sandbox_images.harness.runners import judging, loading, looking
from sandbox_images.harness.runners.events import Reporter, describe
from sandbox_images.harness.runners.swallowed import Swallowed, compile_noting
from sandbox_images.harness.split.judge import DoesNotCompile, Judge, Refused


def run(run: ConfinedRun, reporter: Reporter) -> None:
    """Load the source, run every case in its namespace, and report each."""
    code = loading.compile_source(run.bundle, reporter)
    path = loading.path_of(run.bundle)
    if code is not None:
        try:
            looking.watch(path, [], lambda at: reporter.emit("looked", at=at))
            module = loading.new_module("solution", run.bundle)
            exec(code, module.__dict__)  # noqa: S102 - this is what the sandbox is for
        except BaseException as error:  # noqa: BLE001 - whatever the submission raised
            reporter.exception("load", error, path)
        else:
            reporter.emit("loaded")
            if _Cases(_read_payload(run), module.__dict__, path, reporter).run():
                reporter.emit("done")


def judge(run: ConfinedRun, reporter: Reporter) -> None:
    """Run every case over stand-ins for the submission's functions, and report each."""
    with judging.beginning():
        payload = _read_payload(run)
        exchange = judging.connect(run, payload["apart"], reporter)
    try:
        _judge_cases(payload, loading.path_of(run.bundle), reporter, exchange)
    except Refused:
        pass
    if exchange.refused is not None:
        reporter.emit("refused", reason=exchange.refused)
    exchange.close()


def _judge_cases(payload: dict[str, Any], path: str, reporter: Reporter, exchange: Judge) -> None:
    try:
        found = exchange.load(payload["apart"])
    except DoesNotCompile as error:
        reporter.emit("compile_error", **error.fields)
        return
    except Exception as error:  # noqa: BLE001 - whatever the submission raised
        reporter.exception("load", error, path)
        return
    reporter.emit("loaded")
    module = types.ModuleType("solution")
    module.__dict__.update(found)
    if _Cases(payload, module.__dict__, path, reporter).run(exchange):
        reporter.emit("done")


def _read_payload(run: ConfinedRun) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(os.pread(run.payload, os.fstat(run.payload).st_size, 0))
    return payload


class _Cases:
    """The statements of a script, run in a namespace."""

    def __init__(
        self, payload: dict[str, Any], namespace: dict[str, Any], path: str, reporter: Reporter
    ) -> None:
        self._payload = payload
        self._namespace = namespace
        self._path = path
        self._reporter = reporter
        self._swallowed = Swallowed()

    def run(self, exchange: Judge | None = None) -> bool:
        """Run setup and cases; tell whether the end was reached."""
        try:
            if self._payload["setup"]:
                self._execute(self._payload["setup"], "setup")
        except BaseException as error:  # noqa: BLE001 - whatever the submission raised
            self._reporter.exception("setup", error, self._path)
            return False
        for index, source in enumerate(self._payload["cases"]):
            outcome = self._swallowed.settle(self._run_case(index, source))
            if exchange is not None and exchange.refused is not None:
                return False
            self._reporter.emit("case", i=index, **outcome)
            if self._payload["stop_early"] and outcome["outcome"] != "passed":
                return False
        return True

    def _run_case(self, index: int, source: str) -> dict[str, Any]:
        try:
            self._execute(source, f"case {index}")
        except AssertionError as error:
            return {"outcome": "failed", **_describe_assertion(error, index, self._path)}
        except BaseException as error:  # noqa: BLE001 - whatever the submission raised
            return {"outcome": "error", **describe(error, self._path)}
        return {"outcome": "passed"}

    def _execute(self, source: str, name: str) -> None:
        filename = f"<{name}>"
        lines = source.splitlines(keepends=True)
        linecache.cache[filename] = (len(source), None, lines, filename)
        if self._payload["notes"]:
            code = compile_noting(source, filename, self._namespace, self._swallowed)
        else:
            code = compile(source, filename, "exec", dont_inherit=True)
        exec(code, self._namespace)  # noqa: S102 - the suite's own


def _describe_assertion(error: AssertionError, index: int, path: str) -> dict[str, Any]:
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
