"""The `grader` command.

The first verdict should come within a second and a half of pressing return, so that modules
here import at their top only what every command needs, and a command imports in its body what
it alone needs: the engine, rich, a backend.
"""

import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    from grader.cli.app import run  # Importing the package must not import typer.

    _open_standard_streams()
    sys.exit(run())


def _open_standard_streams() -> None:
    """Have standard streams, also where whoever started this closed them.

    The next file to be opened would get a stream's number, and what is printed with it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    # Python has None where a stream was closed as it began.
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w"))
