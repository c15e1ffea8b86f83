"""The `grader` command.

The first verdict should come within a second and a half of pressing return, so that modules
here import at their top only what every command needs, and a command imports in its body what
it alone needs: the engine, rich, a backend.
"""

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    from grader.cli.app import run  # Importing the package must not import typer.

    sys.exit(run())
