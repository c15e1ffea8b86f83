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

    Otherwise the next opened file would get the descriptor of a stream, and the printed output.
    What is printed is dropped, as by Python itself, but rows cannot be written to the descriptor.
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
