"""Call a function of a program with arguments, in a process for each call, and hold the results."""

import json
import os
import sys
import types
from collections.abc import Callable
from typing import Any


def main() -> None:
    """Tell after each call whether it returned what was expected."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - before anything is changed
        payload = json.load(file)
    told = open(os.environ.pop("AGREEMENT_TOLD"), "a", encoding="utf-8")  # noqa: PTH123, SIM115
    with open("solution.py", encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123
        source = file.read()
    sys.argv[:] = ["solution.py"]
    sys.path[0] = payload["repository"]
    from grader.judging.compare import compare_value
    from grader.model import Comparator, Comparison
    from sandbox_images.harness.wire.values import decode, encode

    sys.path[0] = os.getcwd()  # noqa: PTH109
    given = payload["comparison"]
    comparison = Comparison(**{**given, "comparator": Comparator(given["comparator"])})

    def plain(returned: Any) -> Any:
        if comparison.comparator is Comparator.FOUND and not isinstance(returned, bool):
            returned = returned is not None
        return decode(encode(returned))

    def matches(expected: Any, found: Any) -> bool:
        check = compare_value(comparison, expected=expected, got=plain(found))
        return check.equal

    for id, encoded_call, encoded_expected in payload["cases"]:
        child = os.fork()
        if child == 0:
            args, kwargs = decode(encoded_call)
            call = _Call(source, payload["entry_point"], args, kwargs)
            expected = decode(encoded_expected)
            if payload["reference"] is not None:
                args, kwargs = decode(encoded_call)
                reference = _Call(payload["reference"], payload["entry_point"], args, kwargs)
                expected = [plain(reference.returned())]
            event = {"id": id, **call.outcome(expected, matches)}
            told.write(json.dumps(event) + "\n")
            told.flush()
            os._exit(0)
        os.waitpid(child, 0)


class _Call:
    """A call of what a program defines."""

    def __init__(
        self, source: str, entry_point: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._source = source
        self._entry_point = entry_point
        self._args = args
        self._kwargs = kwargs

    def outcome(self, expected: list[Any], matches: Callable[[Any, Any], bool]) -> dict[str, Any]:
        """Return whether what it returns matches one of the values that are right."""
        try:
            found = self.returned()
            passed = any(matches(each, found) for each in expected)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the case has not passed
            return {"passed": False, "detail": f"{type(error).__name__}: {str(error)[:300]}"}
        return {"passed": passed, "detail": "" if passed else f"{found!r}"[:300]}

    def returned(self) -> Any:
        """Load the program and return what the call returns."""
        module = types.ModuleType("solution")
        module.__file__ = "solution.py"
        sys.modules["solution"] = module
        exec(compile(self._source, "solution.py", "exec"), module.__dict__)  # noqa: S102
        return self._function(module)(*self._args, **self._kwargs)

    def _function(self, module: types.ModuleType) -> Callable[..., Any]:
        owner, dot, method = self._entry_point.rpartition(".")
        if not dot and not hasattr(module, method):
            owner = "Solution"
        found: Callable[..., Any] = getattr(getattr(module, owner)() if owner else module, method)
        return found


main()
