"""The red-team corpus beside this repository, through the whole grader, on every backend.

No exploit is paid, none is an error of ours, none writes that it got through a boundary, and
what is dangerous in one did run; every honest submission passes; and what one submission left
for the next is not there.
"""

import json
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.model import GradeReport, Limits, MiB, Submission
from grader.model.overrides import ExtractionRule
from grader.model.verdict import Verdict
from grader.sandbox.contract import RunBatch, RunOutcome, Sandbox, Slot, SlotSession
from grader.suites import parse_label, parse_problem
from tests.acceptance.data import everything_is_wanted, sample

LIMITS = Limits(cpu_time_s=2.0, wall_time_s=4.0, memory_bytes=512 * MiB)
SLOTS = 2

BACKENDS = (
    pytest.param("docker", id="docker", marks=pytest.mark.docker),
    pytest.param("runsc", id="runsc", marks=(pytest.mark.docker, pytest.mark.slow)),
    pytest.param("native", id="native"),
)

CORPUS_WORDS = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "failed",
    Verdict.TAMPERED: "failed",
    Verdict.RUNTIME_ERROR: "error",
    Verdict.COMPILE_ERROR: "error",
    Verdict.TIME_LIMIT: "timeout",
    Verdict.MEMORY_LIMIT: "memory",
    Verdict.OUTPUT_LIMIT: "output_limit",
    Verdict.NO_CODE: "no_code",
}
"""The corpus's word for each verdict; it has none for an error of ours, which is never right."""

ARMING = "__import__('os').environ['GRADER_REDTEAM'] = '1'\n"
"""Put before a guarded submission, in the sandbox only: it then does what it dares nowhere else."""

OWN_FOLDERS = ("/work/", "./")
"""Where a submission may write: its own work area, which nothing of ours imports from and which
ends with the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the corpus."""

    id: str
    submission: Submission
    ok: tuple[str, ...]
    guard: bool
    group: str | None

    @classmethod
    def parse(cls, line: str) -> "Row":
        fields: Mapping[str, Any] = json.loads(line)
        if "label" in fields:
            suite = parse_label(fields["label"])
        else:
            suite = parse_problem({name: fields[name] for name in ("id", "style", "tests")})
        if fields["requires"] == "numpy":
            suite = replace(suite, image="science")
        is_response = fields["kind"] == "response"
        if not is_response:
            suite = replace(suite, extraction=ExtractionRule.VERBATIM)
        return cls(
            id=fields["id"],
            submission=Submission(
                id=fields["id"],
                completion=fields.get("completion", fields["code"]),
                suite=suite,
                prompt=(fields["problem"] or "") if is_response else "",
            ),
            ok=tuple(fields["ok"]),
            guard=fields["guard"],
            group=fields["group"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """What became of a row, and the marks that its code left on standard error."""

    row: Row
    report: GradeReport
    marks: tuple[str, ...]

    @property
    def word(self) -> str:
        """The verdict, in the words of the corpus."""
        return CORPUS_WORDS.get(self.report.verdict, self.report.verdict)

    @property
    def is_right(self) -> bool:
        """Whether the row allows its verdict."""
        return self.word in self.row.ok or self.report.verdict in self.row.ok

    @property
    def leaks(self) -> list[str]:
        """What it wrote about boundaries that it got through."""
        return [
            mark
            for mark in self.marks
            if mark.startswith("HACK-LEAK:")
            and not mark.removeprefix("HACK-LEAK:wrote ").startswith(OWN_FOLDERS)
        ]


class RecordingSlot:
    """A slot that keeps the marks in its runs' standard error, which reports do not carry."""

    def __init__(self, slot: Slot, recorder: "Recorder") -> None:
        self._slot = slot
        self._recorder = recorder

    @property
    def name(self) -> str:
        return self._slot.name

    def run(self, batch: RunBatch) -> Generator[RunOutcome, None, None]:
        if self._recorder.arms:
            batch = replace(batch, source=ARMING + batch.source)
        with closing(self._slot.run(batch)) as running:
            for outcome in running:
                self._recorder.record(outcome)
                yield outcome

    def open_session(self, limits: Limits, **bounds: Any) -> SlotSession:
        return self._slot.open_session(limits, **bounds)

    def is_alive(self) -> bool:
        return self._slot.is_alive()

    def close(self) -> None:
        self._slot.close()


class Recorder:
    """A backend around a real one; what a thread grades leaves its marks with that thread."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._current = threading.local()

    @property
    def name(self) -> str:
        return self._sandbox.name

    @property
    def arms(self) -> bool:
        """Whether what this thread grades is guarded."""
        return bool(self._current.arms)

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:
        return RecordingSlot(self._sandbox.open_slot(image=image, memory_bytes=memory_bytes), self)

    def layers(self) -> Mapping[str, str]:
        return self._sandbox.layers()

    def environment(self, image: str) -> str:
        return self._sandbox.environment(image)

    def close(self) -> None:
        """Leave the real one open: it is shared."""

    def record(self, outcome: RunOutcome) -> None:
        text = outcome.stderr.decode(errors="replace")
        self._current.marks += [line for line in text.splitlines() if line.startswith("HACK-")]

    def grade(self, row: Row, engine: GradingEngine) -> Graded:
        """Grade a row in this thread."""
        self._current.arms, self._current.marks = row.guard, []
        report = engine.grade(row.submission)
        return Graded(row=row, report=report, marks=tuple(self._current.marks))


# ---------------------------------------------------------------- the corpus, graded once


def read_rows(folder: Path, name: str) -> list[Row]:
    """Read a file of the corpus."""
    lines = (folder / "redteam" / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [Row.parse(line) for line in lines]


def settings(slots: int) -> Settings:
    """The settings of a trainer that rewards only what passes every case."""
    return Settings(slots=slots, limits=LIMITS, policy="binary")


def grade_all(sandbox: Sandbox, rows: Sequence[Row]) -> list[Graded]:
    """Grade rows on a few warm slots, side by side."""
    recorder = Recorder(sandbox)
    with (
        GradingEngine(settings(SLOTS), sandbox=recorder) as engine,
        ThreadPoolExecutor(SLOTS) as threads,
    ):
        return list(threads.map(lambda row: recorder.grade(row, engine), rows))


@pytest.fixture(scope="module", params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """The backend under attack."""
    found: Sandbox = request.getfixturevalue(f"{request.param}_sandbox")
    return found


@pytest.fixture(scope="module")
def exploits(sandbox: Sandbox, shared_dir: Path) -> list[Graded]:
    """Exploits of every kind, graded: a third of the corpus, or all of it."""
    return grade_all(sandbox, sample(read_rows(shared_dir, "exploits"), 50))


def described(graded: Iterator[Graded]) -> dict[str, str]:
    """Return what became of some rows, by id, for a message that can be read."""
    return {g.row.id: f"{g.word} ({g.report.integrity}): {g.report.feedback}" for g in graded}


@pytest.mark.timeout(300)
def test_corpus_is_complete(exploits: list[Graded], shared_dir: Path) -> None:
    assert len(read_rows(shared_dir, "exploits")) == 150
    assert len(exploits) == (150 if everything_is_wanted() else 50)


def test_no_exploit_is_paid(exploits: list[Graded]) -> None:
    assert described(g for g in exploits if g.report.verdict is Verdict.PASSED) == {}


def test_every_exploit_gets_a_verdict_that_is_right(exploits: list[Graded]) -> None:
    assert described(g for g in exploits if g.word not in g.row.ok) == {}


def test_no_exploit_passes_as_a_fault_of_ours(exploits: list[Graded]) -> None:
    assert described(g for g in exploits if not g.report.graded) == {}


def test_guarded_exploits_were_armed(exploits: list[Graded]) -> None:
    inert = [
        g.row.id
        for g in exploits
        if g.row.guard and ("HACK-GUARD:armed" not in g.marks or "HACK-GUARD:inert" in g.marks)
    ]
    assert inert == []


def test_no_boundary_is_open(exploits: list[Graded]) -> None:
    assert {g.row.id: g.leaks for g in exploits if g.leaks} == {}


@pytest.mark.timeout(120)
def test_every_honest_submission_passes(sandbox: Sandbox, shared_dir: Path) -> None:
    graded = grade_all(sandbox, read_rows(shared_dir, "honest"))
    assert len(graded) == 35
    assert described(g for g in graded if g.report.verdict is not Verdict.PASSED) == {}


KNOWN = {
    "pose_removeprefix": "its tests hold for an empty text, whatever prefix they name",
    "real_mbpp_255_clear": "the row's own reference needs more memory than these limits give",
}
"""Exploits of the second corpus whose verdict is not among the right ones, and why; see
docs/known-limitations.md."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_swapped", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_second_corpus_gets_right_verdicts_in_any_order(
    sandbox: Sandbox, shared_dir: Path, *, is_swapped: bool
) -> None:
    """Poisoned rows stand before innocent ones in it: one slot, and both directions.

    What could carry a poison on is the same program on all backends. So one of them has the rows in
    one direction, and the others in the other; `make acceptance` has them in both on all.
    """
    is_turned = (sandbox.name == "native") != is_swapped
    rows = read_rows(shared_dir, "exploits_2") + read_rows(shared_dir, "honest_2")
    assert len(rows) == 122 + 48
    recorder = Recorder(sandbox)
    with GradingEngine(settings(1), sandbox=recorder) as engine:
        graded = [recorder.grade(row, engine) for row in (rows[::-1] if is_turned else rows)]
        # Guessing beats twins now and then (docs/known-limitations.md), but not three times.
        wrong = [g for g in graded if not g.is_right]
        for _ in range(2):
            wrong = [g for g in (recorder.grade(g.row, engine) for g in wrong) if not g.is_right]
    assert described(iter(wrong)).keys() <= KNOWN.keys(), described(iter(wrong))
    assert {g.row.id: g.leaks for g in graded if g.leaks} == {}


PLAIN = {
    "collatz_steps": """
def collatz_steps(n):
    steps = 0
    while n != 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    return steps
""",
    "count_primes": """
def count_primes(n):
    return sum(all(m % d for d in range(2, int(m**0.5) + 1)) for m in range(2, n))
""",
}
"""Right solutions of the problems that the poisons are about."""


def plain_rows(row: Row) -> Iterator[Row]:
    """Yield plain submissions for a row's problem, a wrong one and a right one."""
    name = row.submission.suite.entry_point or ""
    for ok, code in (
        (("failed",), f"def {name}(n):\n    return -1\n"),
        (("passed",), PLAIN[name]),
    ):
        submission = replace(row.submission, id=f"plain_{ok[0]}", completion=code)
        yield replace(row, id=submission.id, submission=submission, ok=ok, guard=False)


@pytest.mark.timeout(120)
def test_nothing_is_left_for_the_next_on_the_same_slot(sandbox: Sandbox, shared_dir: Path) -> None:
    groups: dict[str, list[Row]] = {}
    for row in read_rows(shared_dir, "exploits"):
        if row.group is not None:
            groups.setdefault(row.group, []).append(row)
    assert len(groups) == 5
    recorder = Recorder(sandbox)
    wrong: dict[str, str] = {}
    with GradingEngine(settings(1), sandbox=recorder) as engine:
        for members in groups.values():
            probes = [row for row in members if row.id.startswith("probe_")]
            for poison in members:
                for row in (poison, *probes, *plain_rows(poison)):
                    graded = recorder.grade(row, engine)
                    if graded.word not in row.ok:
                        wrong[f"{poison.id}, then {row.id}"] = graded.word
    assert wrong == {}
