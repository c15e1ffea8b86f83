"""The results of `grader check` as one page, without scripts, other files or network."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.offline.checked import SHOWN, CheckSummary, ProblemCheck, ProblemHealth
from grader.report import charts
from grader.report.batch import Bin
from grader.report.pages import one_file, render

MAX_CODE_CHARS = 3_000_000
"""Most characters of the code of all paid attacks together; later problems show no code."""

_BINS = 10

_HEALTHS = {
    ProblemHealth.UNCHECKED: "internal errors: ours",
    ProblemHealth.BROKEN: "the tests cannot be read, or the reference does not pass",
    ProblemHealth.FLAKY: "two runs of the reference came out differently",
    ProblemHealth.EXPLOITABLE: "a submission that solves nothing passes",
    ProblemHealth.SLOW: "the reference takes more than half of the CPU time limit",
    ProblemHealth.VACUOUS: "some cases assert nothing",
    ProblemHealth.NO_REFERENCE: "there is no reference solution",
    ProblemHealth.OK: "nothing was found",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A problem in the table."""

    check: ProblemCheck
    has_code: bool
    """Whether there was room for the code of its paid attacks."""


def page(title: str, tally: CheckSummary) -> str:
    """Return the page.

    Args:
        title: The name of the file of problems.
        tally: The tally of all its problems.
    """
    shown = list(_shown(tally))
    main = render(
        "checked.html",
        title=title,
        tally=tally,
        tiles=list(_tiles(tally)),
        healths=[(health, count, _HEALTHS[health]) for health, count in _ordered(tally)],
        paid=tally.paid.most_common(),
        strengths=charts.histogram(_bins(tally.strengths), "Problems by strength")
        if tally.strengths
        else None,
        shown=shown,
        left_out=tally.problems - len(shown),
    )
    return one_file(title, main)


def _shown(tally: CheckSummary) -> Iterator[_Shown]:
    room = MAX_CODE_CHARS
    for check in tally.worst(SHOWN):
        room -= sum(len(each.code) for each in check.paid)
        yield _Shown(check=check, has_code=room >= 0)


def _ordered(tally: CheckSummary) -> Iterator[tuple[ProblemHealth, int]]:
    return ((health, tally.healths[health]) for health in ProblemHealth if tally.healths[health])


def _tiles(tally: CheckSummary) -> Iterator[tuple[str, str, str]]:
    """Yield the key figures: name, value, note."""
    yield "Problems", f"{tally.problems:,}", f"{tally.healths[ProblemHealth.OK]:,} ok"
    exploitable = tally.healths[ProblemHealth.EXPLOITABLE]
    yield "Exploitable", f"{exploitable:,}", "pass a submission that solves nothing"
    if tally.tried:
        share = f"{100 * tally.noticed / tally.tried:.1f} %"
        yield "Changes noticed", share, f"{tally.noticed:,} of {tally.tried:,}"
    if tally.cases:
        share = f"{100 * tally.confirmable / tally.cases:.1f} %"
        yield "Cases with a twin", share, f"{tally.confirmable:,} of {tally.cases:,}"
    if tally.median_strength is not None:
        yield "Median strength", f"{tally.median_strength:.2f}", f"of {len(tally.strengths):,}"
    yield "Runs", f"{tally.runs:,}", "submissions graded"


def _bins(strengths: list[float]) -> list[Bin]:
    """Return ten bins; the last includes 1.0."""
    places = [min(int(strength * _BINS), _BINS - 1) for strength in strengths]
    return [Bin(label=f"{place / _BINS:.1f}", count=places.count(place)) for place in range(_BINS)]
