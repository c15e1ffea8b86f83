"""One graded sample on a terminal, in the order of its page."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from grader.cli.summary import verdict_style
from grader.report.reasons import VERDICTS
from grader.text.visible import pieces, visible, visible_line

if TYPE_CHECKING:
    from grader.model.verdict import Verdict
    from grader.report.differ import DiffLine
    from grader.report.sample import CaseView, SampleView

_WIDTH_OF_A_FILE = 100
_DIFF_STYLES = {"missing": "yellow", "extra": "cyan", "same": "", "gap": "dim"}
_DIFF_SIGNS = {"missing": "-", "extra": "+", "same": " ", "gap": "⋯"}


def print_sample(sample: "SampleView", *, all_cases: bool) -> None:
    """Print a sample to standard output, in colours if that is a terminal.

    Args:
        sample: The sample.
        all_cases: Whether cases that passed are shown in full, too.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH_OF_A_FILE
    for part in _parts(sample, all_cases=all_cases):
        console.print(part)


def _parts(sample: "SampleView", *, all_cases: bool) -> Iterator[RenderableType]:
    yield _head(sample)
    yield from _section("Completion as it came", _block(sample.completion))
    if sample.completion_cut:
        yield Text(f"  {sample.completion_cut:,} more characters are not shown.", "dim")
    yield from _section(
        "Code that was run" if sample.is_code else "Answer that was found", _code(sample)
    )
    yield from _cases(sample, all_cases=all_cases)
    if sample.stdout:
        yield from _section("Standard output", _block(sample.stdout))
    if sample.stderr:
        yield from _section("Standard error", _block(sample.stderr))
    if sample.limits:
        yield from _section("Usage against limits", _limits(sample))
    yield from _section("Circumstances", _facts(sample))
    yield from _section("Why", _why(sample))


def _section(title: str, body: RenderableType) -> Iterator[RenderableType]:
    yield Text()
    yield Rule(Text(title, "bold"), align="left", style="dim")
    yield body


def _head(sample: "SampleView") -> RenderableType:
    line = _badge(sample.verdict)
    if sample.graded:
        line.append(f"   reward {sample.reward:+.3g}   score {sample.score:.3g}")
    line.append(f"   {sample.passed} of {sample.total} cases passed")
    return Panel(line, title=Text(visible_line(sample.id), "bold"), title_align="left")


def _badge(verdict: "Verdict") -> Text:
    return Text(f"{verdict.code} {VERDICTS[verdict].label}", verdict_style(verdict))


def _code(sample: "SampleView") -> RenderableType:
    if sample.code is None:
        return Text("None was found.", "dim")
    if not sample.is_code:
        return _block(sample.code)
    return Syntax(visible(sample.code), "python", theme="ansi_dark", line_numbers=True)


def _cases(sample: "SampleView", *, all_cases: bool) -> Iterator[RenderableType]:
    if not sample.cases:
        return
    counts = ", ".join(f"{n} {VERDICTS[v].label.lower()}" for v, n in sample.case_counts)
    yield from _section(f"Cases: {counts}", Text())
    for case in sample.cases:
        yield _case(case, full=all_cases or case.verdict != "passed")
    if sample.cases_left_out:
        yield Text(f"{sample.cases_left_out} more cases are not shown.", "dim")


def _case(case: "CaseView", *, full: bool) -> RenderableType:
    title = _badge(case.verdict)
    title.append(f"  {visible_line(case.id)}", "bold")
    if case.facts:
        title.append(f"  ({visible_line(', '.join(case.facts))})", "dim")
    parts: list[RenderableType] = [title]
    if case.feedback:
        parts.append(Padding(_shown(case.feedback), (0, 0, 0, 2)))
    if full and case.has_evidence:
        table = Table(box=None, show_header=False, padding=(0, 1), expand=True)
        table.add_column(style="dim", width=13)
        table.add_column(ratio=1, overflow="fold")
        texts: tuple[tuple[str, str | None], ...] = (
            (case.input_name.lower(), case.input or None),
            ("expected", case.expected),
            ("got", case.got),
            ("raised at", case.traceback or None),
            ("printed", case.stdout or None),
            ("std. error", case.stderr or None),
        )
        for name, text in texts:
            if text is not None:
                table.add_row(name, _block(text) if text else Text("nothing", "dim"))
        if case.diff:
            table.add_row("difference", _diff(case.diff))
        parts.append(table)
    return Group(*parts, Text())


def _diff(lines: "tuple[DiffLine, ...]") -> Text:
    text = Text()
    for line in lines:
        text.append(f"{_DIFF_SIGNS[line.kind]} ", _DIFF_STYLES[line.kind])
        style = _DIFF_STYLES[line.kind]
        text.append_text(_shown(line.start, style))
        text.append_text(_shown(line.differing, f"bold {style}".strip()))
        text.append_text(_shown(line.end, style))
        text.append("\n")
    text.rstrip()
    return text


def _limits(sample: "SampleView") -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column(width=20)
    for use in sample.limits:
        bar = "" if use.share is None else ProgressBar(1.0, min(use.share, 1.0), width=20)
        hit = Text(" limit hit", "bold yellow") if use.hit else Text()
        table.add_row(use.name, use.used, f"of {use.limit}", bar, hit)
    return table


def _facts(sample: "SampleView") -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    facts = (*sample.facts, ("Policy", sample.policy))
    if sample.problem_id is not None:
        facts = (("Problem", sample.problem_id), *facts)
    for name, value in facts:
        table.add_row(name, _shown(value))
    return table


def _why(sample: "SampleView") -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(ratio=1)
    if sample.feedback:
        table.add_row("Feedback", _shown(sample.feedback))
    for step in sample.steps:
        table.add_row(step.name, _shown(step.text))
    for sign, meaning in sample.suspicion:
        table.add_row("Suspicion", Text(f"{sign}: {meaning}", "yellow"))
    if sample.better is not None:
        words = _shown(sample.better.what)
        words.append(f" would have earned {sample.better.reward:+.3g}.")
        table.add_row("For more", words)
    return table


def _block(text: str) -> Text:
    return _shown(text.removesuffix("\n"))


def _shown(text: str, style: str = "") -> Text:
    """Return hostile text, with symbols set apart in place of characters that act or hide."""
    shown = Text(style=style)
    for piece, is_symbol in pieces(text):
        shown.append(piece, "reverse" if is_symbol else "")
    return shown
