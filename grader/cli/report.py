"""`grader report`."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.cli.console import note, terminal
from grader.cli.options import ForceOption
from grader.cli.runs import RUN_HELP, open_run
from grader.model.errors import ConfigurationError
from grader.text.integers import counted

if TYPE_CHECKING:
    from grader.report.document import Document


def report(
    out: Annotated[Path, typer.Argument(metavar="RUN", help=RUN_HELP)],
    other: Annotated[
        Path | None,
        typer.Argument(metavar="OTHER", help="Graded rows to compare with, such as older ones."),
    ] = None,
    *,
    problems: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Problems, as for `grader grade`: their prompts and references are shown.",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="The page to write; - is standard output."
        ),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page, with every sample, instead.")
    ] = False,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="With --serve: where to listen.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="With --serve: 0 for any free port.")
    ] = 8765,
    force: ForceOption = False,
) -> None:
    """Summarise a graded file, down to each sample's cases.

    With `-o`, writes one self-contained page of at most 5 MB that needs no network: counts,
    distributions, problems, what deserves a look, and the pages of as many samples as there is
    room for, suspicious and failed ones first. With `--serve`, serves the same page with all
    samples. If rows name their training steps, it shows how every figure moves over them. With
    OTHER, it shows all figures side by side, which samples have another verdict, and what else
    differs about them.

    If the page is served beyond loopback addresses, its address carries a token.

    **Examples**

        grader report graded.jsonl -o report.html

        grader report graded.jsonl --problems problems.jsonl -o report.html

        grader report new.jsonl old.jsonl -o report.html

        grader report run/ --serve

        grader report run@40:49 run@30:39 -o report.html

    **Exit codes**

    - 0: written
    - 2: bad usage, or a file that cannot be read or written
    - 3: the disk is full
    - 130: served until Ctrl-C
    """
    if (to is None) is not serve:
        message = "expected either -o FILE, to write the page, or --serve, to serve it"
        raise ConfigurationError(message)
    if to is not None and to.exists() and not force:
        message = f"{to} exists; replace it with --force, or name another file with -o"
        raise ConfigurationError(message)
    from grader.offline.output import write_whole
    from grader.offline.problems import load_problems
    from grader.report.document import Document
    from grader.report.problems import ProblemReader

    with ExitStack() as stack:
        index = None if problems is None else stack.enter_context(load_problems(problems))
        older = None if other is None else open_run(other)
        document = Document(open_run(out), older, problems=ProblemReader(index))
        if to is None:
            _serve(document, host, port)
            return
        page = _with_progress(document)
    write_whole(to, [page.encode()])
    shown, count = document.pages_held, len(document.file.entries)
    left = (
        "" if shown == count else f"; the pages of {counted(count - shown, 'sample')} had no room"
    )
    note(f"{to}: {counted(count, 'sample')}, {len(page.encode()) / 1e6:.1f} MB{left}")


def _with_progress(document: "Document") -> str:
    """Make the page in one file, which takes some seconds for thousands of samples."""
    console = terminal(err=True)
    if console is None:
        return document.one_file()
    from rich.progress import Progress

    with Progress(console=console, transient=True) as shown:
        task = shown.add_task("Making the page", total=1.0)
        return document.one_file(tell=lambda share: shown.update(task, completed=share))


def _serve(document: "Document", host: str, port: int) -> None:
    from grader.report.serve import listen, make_app, new_token, run
    from grader.text.hosts import is_loopback

    token = None if is_loopback(host) else new_token()
    listening = listen(host, port)
    app = make_app(document, token)
    shown = f"[{host}]" if ":" in host else host
    query = "" if token is None else f"?token={token}"
    note(f"Serving on http://{shown}:{listening.getsockname()[1]}/{query} until Ctrl-C.")
    run(app, listening)
