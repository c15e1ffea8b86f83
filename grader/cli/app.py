"""The commands and their exit codes.

Exit codes: 0 done, whatever the verdicts; 1 the reader closed the output; 2 bad usage, or input
that cannot be read; 3 something of ours failed, rows ended as internal errors, or there was nothing
to grade; 130 stopped by Ctrl-C.
"""

import errno
import io
import os
import sys
from collections.abc import Sequence

import typer

from grader.cli.check import check
from grader.cli.compare import compare
from grader.cli.config import config
from grader.cli.console import fail
from grader.cli.doctor import doctor
from grader.cli.explain import explain
from grader.cli.export import export
from grader.cli.formats import formats
from grader.cli.grade import grade
from grader.cli.images import images
from grader.cli.report import report
from grader.cli.serve import serve
from grader.cli.status import status
from grader.cli.try_ import try_
from grader.cli.version import before_command, version
from grader.cli.worker import worker
from grader.model.errors import ConfigurationError, GraderError, ImageNotFoundError, InputError

app = typer.Typer(
    name="grader",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    # Mistakes of the user get a message. Any other exception is a bug, and then a plain traceback
    # says more than a decorated one.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Grade code that language models write: run it against its tests in a locked-down "
        "sandbox, get verdicts, scores and rewards.\n\n"
        "Start with `grader doctor`, then `grader grade --help`."
    ),
)
app.callback()(before_command)
app.command()(grade)
app.command()(check)
app.command()(report)
app.command()(compare)
app.command()(explain)
app.command()(export)
app.command("try")(try_)
app.command()(doctor)
app.add_typer(images, name="images")
app.command()(serve)
app.command()(worker)
app.command()(status)
app.command()(formats)
app.command()(config)
app.command()(version)

_USER_ERRORS = (ConfigurationError, InputError, ImageNotFoundError)

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_WAY = (errno.EACCES, errno.ENAMETOOLONG)
"""If a path is too long, or in a folder that the user may not enter, even looking for it fails."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    Args:
        arguments: None for those of this process.
    """
    _print_in_any_encoding()
    try:
        code = _run(arguments)
        # Flushed here, since a failure at Python's exit would have another code and message.
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has closed the pipe.
        _drop_output()
        return 1
    except OSError as error:
        if error.errno in _NO_WAY and error.filename:
            fail(f"cannot reach {error.filename}: {error.strerror}")
            return 2
        if error.errno not in _NO_ROOM:
            raise
        _drop_output()
        fail(f"cannot write {error.filename or 'standard output'}: {error.strerror}")
        return 3
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        app(arguments, prog_name="grader")
    except _USER_ERRORS as error:
        fail(str(error))
        return 2
    except GraderError as error:
        fail(str(error))
        return 3
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(bool(leaving.code))
    return 0


def _print_in_any_encoding() -> None:
    """Have `?` printed in place of characters that the locale's encoding lacks, as in ASCII."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _drop_output() -> None:
    """Keep Python from reporting the same error again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
