"""Run a program and then, over its names, one piece of source after another."""

import json
import os
import sys
import types


def main() -> None:
    """Tell after each case whether it raised nothing."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - before anything is changed
        payload = json.load(file)
    told = open(os.environ.pop("AGREEMENT_TOLD"), "a", encoding="utf-8")  # noqa: PTH123, SIM115
    with open("solution.py", encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123
        source = file.read()
    sys.argv[:] = ["solution.py"]
    sys.path[0] = os.getcwd()  # noqa: PTH109
    module = types.ModuleType("__main__")
    module.__file__ = "solution.py"
    sys.modules["__main__"] = module
    exec(compile(source, "solution.py", "exec"), module.__dict__)  # noqa: S102
    exec(compile(payload["setup"], "setup", "exec"), module.__dict__)  # noqa: S102
    for id, case in payload["cases"]:
        event = {"id": id, "passed": True, "detail": ""}
        try:
            exec(compile(case, f"case {id}", "exec"), module.__dict__)  # noqa: S102
        except BaseException as error:  # noqa: BLE001 - whatever it is, the case has not passed
            event.update(passed=False, detail=f"{type(error).__name__}: {str(error)[:300]}")
        told.write(json.dumps(event) + "\n")
        told.flush()


main()
