"""Call one function or method of the submission with plain data, and report what it returns."""

import json
import os
import sys
from typing import Any, NoReturn

from sandbox_images.harness.lock_in.confinement import ConfinedRun
from sandbox_images.harness.runners import loading, shared_code
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.runners.shared_code import SharedCode
from sandbox_images.harness.wire import values


def run(run: ConfinedRun, reporter: Reporter) -> NoReturn:
    """Load the source, make the calls of its entry point in order, and end."""
    code = shared_code.compile_source(run, reporter)
    if code is not None:
        _load_and_call(run, code, reporter)
    _flush(sys.stdout)
    _flush(sys.stderr)
    os._exit(0)


def _load_and_call(run: ConfinedRun, code: SharedCode, reporter: Reporter) -> None:
    path = loading.path_of(run.bundle)
    where = "load"
    try:
        module = loading.new_module("solution", run.bundle, code.prelude)
        exec(code.program, module.__dict__)  # noqa: S102 - this is what the sandbox is for
        where = "call"
        # Read only now, so that the submission cannot see its arguments while it loads.
        payload = json.loads(os.pread(run.payload, os.fstat(run.payload).st_size, 0))
        for call in payload["calls"]:
            args, kwargs = values.decode(call["args"]), values.decode(call["kwargs"])
            result = resolve(module.__dict__, payload["entry_point"])(*args, **kwargs)
            if payload["asks_presence"] and type(result) is not bool:
                result = result is not None
            try:
                encoded = values.encode(result)
            except values.UnencodableError as error:
                reporter.emit("unencodable", type=type(result).__qualname__, reason=str(error))
                return
            reporter.emit("result", value=encoded)
        reporter.emit("done")
    except BaseException as error:  # noqa: BLE001 - whatever the submission raised
        reporter.exception(where, error, path)


def resolve(namespace: dict[str, Any], entry_point: str) -> Any:
    """Return the function, or the method of a new instance, that `entry_point` names.

    Many problems show their function in a class `Solution`, and answers often leave the class out;
    others add it.
    """
    owner_name, _, method = entry_point.rpartition(".")
    if not owner_name:
        if entry_point in namespace:
            return namespace[entry_point]
        if not hasattr(namespace.get("Solution"), entry_point):
            raise NameError(f"the code defines no {entry_point!r}")
        owner_name = "Solution"
    if owner_name not in namespace:
        if owner_name == "Solution" and method in namespace:
            return namespace[method]
        raise NameError(f"the code defines no class {owner_name!r}")
    return getattr(namespace[owner_name](), method)


def _flush(stream: Any) -> None:
    try:
        stream.flush()
    except BaseException:  # noqa: BLE001 - the submission may have replaced the stream
        pass
