"""Probes beside this repository that try to read, reach, keep or take more than a submission may.

Each row says which verdicts are right for it, and its program prints what it found. The rows of a
backend are one batch, since some of them watch what runs in the next slot.
"""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from grader.config.settings import SandboxChoice
from grader.grading.grader import Grader
from grader.model import GradeReport, Submission
from grader.suites import parse_label
from tests.acceptance.data import grade_all, read_rows
from tests.conftest import docker_settings

BACKENDS = (
    pytest.param("docker", id="docker", marks=pytest.mark.docker),
    pytest.param("native", id="native"),
)
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "CANARY-RT2-aws",
    "HF_TOKEN": "CANARY-RT2-hf",
    "WANDB_API_KEY": "CANARY-RT2-wandb",
}
LISTENER = "\0rt2-canary"
"""What the probes look for in the environment and the memory, and try to connect to."""
UP_TO_A_LIMIT, SIDE_BY_SIDE = "time", "neighbours"
"""Families: programs that run for seconds, until a limit ends them; programs that need others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A line of the corpus."""

    submission: Submission
    family: str
    ok: tuple[str, ...]

    def fault(self, report: GradeReport) -> str | None:
        """Say what is wrong with what came of it; None if nothing is."""
        if report.verdict not in self.ok:
            return f"{report.verdict}, expected {' or '.join(self.ok)}: {report.feedback}"
        evidence = [case.evidence for case in report.cases if case.evidence is not None]
        printed = "\n".join(text for each in evidence for text in (each.got, each.stdout) if text)
        breaches = [line for line in printed.splitlines() if line.startswith("BREACH")]
        return "; ".join(breaches) or None


def read_probes(path: Path) -> list[Probe]:
    """Read the corpus; those that need others side by side come first, as one of them waits."""
    probes = [
        Probe(
            submission=Submission(
                id=row["id"], completion=row["completion"], suite=parse_label(row["label"])
            ),
            family=row["family"],
            ok=tuple(row["ok"]),
        )
        for row in read_rows(path)
    ]
    return sorted(probes, key=lambda probe: probe.family != SIDE_BY_SIDE)


@pytest.fixture
def probes(shared_dir: Path) -> list[Probe]:
    path = shared_dir / "escape" / "probes.jsonl"
    if not path.is_file():
        pytest.skip(f"no probes: {path.parent.name} is not among the recorded data")
    return read_probes(path)


@pytest.fixture
def bait(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Secrets in the grader's environment, and a socket of the host that answers."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(LISTENER)
        listener.listen()
        yield


@pytest.mark.usefixtures("bait")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("are_long", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_probe_gets_more_than_a_submission_may(
    request: pytest.FixtureRequest, probes: list[Probe], backend: str, *, are_long: bool
) -> None:
    request.getfixturevalue(f"{backend}_sandbox")  # the machine has one, or this skips
    chosen = [probe for probe in probes if (probe.family == UP_TO_A_LIMIT) is are_long]
    assert chosen
    settings = replace(docker_settings(), sandbox=SandboxChoice(backend), slots=2)
    with Grader(settings) as grader:
        reports = grade_all(grader, [probe.submission for probe in chosen])
    faults = {p.submission.id: p.fault(reports[p.submission.id]) for p in chosen}
    assert {id: fault for id, fault in faults.items() if fault is not None} == {}
