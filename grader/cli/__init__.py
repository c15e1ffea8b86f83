"""The `grader` command.

The first verdict should come within a second and a half, so modules here import at their top only
what every command needs. A command imports in its body what only it needs: the engine, rich, a
backend.
"""

import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        from grader.cli.app import run  # Here, so that importing the package does not import typer.

        _open_standard_streams()
        code = run()
    except KeyboardInterrupt:  # before a command began, which would handle it
        code = 130
    sys.exit(code)


def _open_standard_streams() -> None:
    """Open the standard streams that are closed.

    If one stayed closed, the next file that is opened would get its descriptor, and with it what is
    printed. What is printed to a stream that is opened here is dropped, as by Python itself. But
    rows cannot be written to its descriptor, so that they are not lost in silence.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    # Python sets a stream that was closed at its start to None.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
