"""Run a module as a release with the wire version before: `python -m tests.older PYTHON -m MODULE`.

Takes the command that would run the module as it is, with its arguments.
"""

import runpy
import sys

from grader.model import wire

VERSION = wire.WIRE_VERSION - 1


def main() -> None:
    """Become the module."""
    wire.WIRE_VERSION = VERSION
    module = sys.argv[3]
    sys.argv = sys.argv[3:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
