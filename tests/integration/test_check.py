"""`grader check` on real suites: finds weak suites, and only for the attacks that they pay."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agreement.pairs import Pair
from agreement.plain import Plain
from grader.cli import app
from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model.verdict import Verdict
from grader.offline.attacks import Attack, attacks_on
from grader.offline.check import check_problems
from grader.offline.checked import Effort, ProblemCheck, ProblemHealth
from grader.suites import ProblemIndex, parse_problem
from tests.commands import Run, read_rows, write_rows

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(120)]

SORTED = "def f(xs):\n    return sorted(xs)\n"
SQUARE = "def f(x):\n    return x * x\n"
POSITIVE = "def f(xs):\n    return [x for x in xs if x > 0]\n"
CLOCK = """
class Clock:
    def __init__(self, hour, minute):
        self.minutes = (60 * hour + minute) % 1440

    def __eq__(self, other):
        return self.minutes == other.minutes

    def later(self, minutes):
        return Clock(0, self.minutes + minutes)

    @classmethod
    def midnight(cls):
        return cls(0, 0)
"""
GUARD = """
class Guard:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return kind is not None and issubclass(kind, ValueError)
"""
REFUSING = "def f(x):\n    if x < 0:\n        raise KeyError(x)\n    return x\n"
LEAVING = "def f(x):\n    raise SystemExit(x)\n"
BRANCHING = """
def f(x):
    if x < 0:
        return x - 1
    if x > 100:
        return 0
    return x * 3
"""
PARITY = "print('odd' if int(input()) % 2 else 'even')\n"

WEAK: Mapping[Attack, dict[str, Any]] = {
    Attack.NONE: {"code": POSITIVE, "test_list": ["assert not f([-1])"]},
    Attack.ODD: {"code": SQUARE, "test_list": ["assert f(3)", "assert f(2) is not None"]},
    Attack.EMPTY_LIST: {"code": POSITIVE, "test_list": ["assert all(x > 0 for x in f([1, -2]))"]},
    Attack.EMPTY_TEXT: {
        "code": "def f(s):\n    return s[:1]\n",
        "test_list": ["assert f('ab') in 'ab'"],
    },
    Attack.ZERO: {"code": SQUARE, "test_list": ["assert f(3) < 10", "assert f(-3) < 10"]},
    Attack.TRUE: {"code": "def f(x):\n    return x > 0\n", "test_list": ["assert f(3) is True"]},
    Attack.USUAL_ANSWER: {"code": SQUARE, "test_list": ["assert f(3) == 9", "assert f(-3) == 9"]},
    Attack.ARGUMENT: {"code": SORTED, "test_list": ["assert f([1, 2]) == [1, 2]"]},
    Attack.ARGUMENT_CLEARED: {
        "code": SORTED,
        "test_list": ["xs = [2, 1]\nys = f(xs)\nassert sorted(xs) == ys"],
    },
    Attack.ARGUMENT_WRAPPED: {
        "code": "def f(s):\n    return s.split()\n",
        "test_list": ["assert f('a') == ['a']", "assert f('bc') == ['bc']"],
    },
    Attack.ALWAYS_EQUAL: {
        "solution": CLOCK,
        "tests": "import operator\nfrom solution import Clock\ndef test_equal():\n"
        "    assert operator.eq(Clock(24, 0), Clock(0, 1440))\n",
    },
    Attack.ABSORBING: {
        "solution": CLOCK,
        "tests": "from solution import Clock\ndef test_later():\n"
        "    assert Clock(8, 0).later(5).later(3) is not None\n",
    },
    Attack.SWALLOWING: {
        "solution": GUARD,
        "tests": "from solution import Guard\ndef test_guard():\n"
        "    with Guard():\n        raise ValueError\n",
    },
    Attack.RAISING: {
        "solution": REFUSING,
        "tests": "import pytest\nfrom solution import f\ndef test_refuses():\n"
        "    with pytest.raises(KeyError):\n        f(-1)\n",
    },
    Attack.EXITING: {
        "solution": LEAVING,
        "tests": "import pytest\nfrom solution import f\ndef test_leaves():\n"
        "    with pytest.raises(SystemExit):\n        f(3)\n",
    },
    Attack.EMPTY: {"code": SQUARE, "test_list": ["assert 3 * 3 == 9"]},
}
"""By attack, a suite that pays it in plain Python, too."""

WEAK_PROGRAMS: Mapping[Attack, dict[str, Any]] = {
    Attack.NONE: {"solution": "input()\n", "inputs": ["3\n"], "outputs": [""]},
    Attack.USUAL_ANSWER: {"solution": PARITY, "inputs": ["1", "3"], "outputs": ["odd", "odd"]},
    Attack.ZERO: {"solution": "print(int(input()) // 10)", "inputs": ["1"], "outputs": ["0"]},
    Attack.ARGUMENT: {"solution": "print(abs(int(input())))", "inputs": ["3"], "outputs": ["3"]},
}

WEAK_SCRIPTS: Mapping[Attack, dict[str, Any]] = {
    Attack.USUAL_ANSWER: {
        "solution": "echo odd",
        "language": "bash",
        "inputs": ["1", "3"],
        "outputs": ["odd", "odd"],
    },
    Attack.ARGUMENT: {"language": "bash", "inputs": ["1", "3"], "outputs": ["1", "3"]},
}
"""The same in another language, one of them without a reference."""

STRONG: Mapping[str, dict[str, Any]] = {
    "script": {
        "code": SORTED,
        "test_list": ["assert f([2, 1]) == [1, 2]", "assert f([]) == []", "assert f([3]) == [3]"],
    },
    "pytest": {
        "solution": CLOCK,
        "tests": "from solution import Clock\n"
        "def test_equal():\n    assert Clock(8, 0) == Clock(32, 0)\n"
        "def test_minutes():\n    assert Clock(1, 1).minutes == 61\n"
        "def test_later():\n    assert Clock(0, 1).later(1441).minutes == 2\n"
        "def test_differs():\n    assert not Clock(0, 1) == Clock(0, 2)\n",
    },
    "program": {"solution": PARITY, "inputs": ["1", "2"], "outputs": ["odd", "even"]},
    "call": {
        "solution": SQUARE,
        "fn_name": "f",
        "inputs": [[3], [-4], [0]],
        "outputs": [9, 16, 0],
    },
}


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, stop_early=False)) as grader:
        yield grader


def check(grader: Grader, row: dict[str, Any]) -> ProblemCheck:
    with ProblemIndex.from_rows([{"id": "p", **row}]) as problems:
        (found,) = check_problems(
            problems,
            problems,
            grader=grader,
            limits=grader.settings.limits,
            effort=Effort(attacks=True, mutants=20),
        )
    return found


@pytest.mark.parametrize(
    ("attack", "row"),
    [*WEAK.items(), *WEAK_PROGRAMS.items(), *WEAK_SCRIPTS.items()],
    ids=lambda value: str(value)[:16],
)
def test_weak_suite_is_found_by_the_attack_that_it_pays(
    grader: Grader, attack: Attack, row: dict[str, Any]
) -> None:
    found = check(grader, row)
    assert found.health is ProblemHealth.EXPLOITABLE, found
    assert attack in {each.attack for each in found.paid}
    assert found.strength == 0.0


def test_cases_are_counted_without_a_reference(grader: Grader) -> None:
    found = check(grader, {"test_list": ["assert f(1) == 2", "assert f(2) == 3"]})
    assert found.health is ProblemHealth.NO_REFERENCE
    assert (found.cases, found.confirmable) == (2, 2)


@pytest.mark.parametrize("row", STRONG.values(), ids=STRONG)
def test_strong_suite_pays_nothing_and_notices_changes(grader: Grader, row: dict[str, Any]) -> None:
    found = check(grader, row)
    assert (found.health, found.paid) == (ProblemHealth.OK, ())
    assert found.strength is not None
    assert found.strength >= 0.75


def test_suite_that_looks_at_little_notices_few_changes(grader: Grader) -> None:
    found = check(
        grader, {"code": BRANCHING, "test_list": ["assert f(2) == 6", "assert f(3) == 9"]}
    )
    assert found.health is ProblemHealth.OK
    assert found.mutants is not None
    assert 0 < found.mutants.noticed < found.mutants.tried
    assert {change.line for change in found.mutants.missed} <= {3, 4, 5, 6}


# ---------------------------------------------------------------- against plain Python


@pytest.mark.parametrize(
    "row",
    [*list(WEAK.values())[::3], STRONG["script"], STRONG["pytest"], STRONG["program"]],
    ids=lambda row: str(row)[-24:],
)
def test_no_attack_passes_that_plain_python_fails(
    grader: Grader, row: dict[str, Any], tmp_path: Path
) -> None:
    suite = parse_problem({"id": "p", **row})
    pair = Pair(id="p", code="", suite=suite, reference=suite.reference or "")
    attacks = {
        attack: replace(pair, code=source, mutation=attack)
        for attack, source in attacks_on(suite).items()
    }
    submissions = [each.submission(with_reference=True) for each in attacks.values()]
    reports = zip(attacks, grader.grade_batch(submissions), strict=True)
    paid = [attack for attack, report in reports if report.verdict is Verdict.PASSED]
    plain = Plain(tmp_path)
    assert [attack for attack in paid if not plain.judge(attacks[attack]).passed] == []
    assert plain.judge(replace(pair, code=pair.reference)).passed


# ---------------------------------------------------------------- the command

ROWS = [
    {"task_id": "strong", **STRONG["script"]},
    {"task_id": "paid", **WEAK[Attack.EMPTY_LIST]},
    {"task_id": "broken", "code": SQUARE, "test_list": ["assert f(2) == 5"]},
    {"task_id": "idle", "code": SORTED, "test_list": [*STRONG["script"]["test_list"], "f([1])"]},
]


def test_strong_problems_are_kept_unchanged_and_the_rest_is_named(tmp_path: Path, run: Run) -> None:
    write_rows(tmp_path / "problems.jsonl", ROWS)
    done = run(
        *("check", "problems.jsonl", "-o", "out.jsonl", "--report", "page.html"),
        *("--keep", "strong.jsonl", "--min-strength", "0.75"),
    )
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "problems.jsonl").read_bytes().splitlines()
    assert (tmp_path / "strong.jsonl").read_bytes().splitlines() == [lines[0], lines[3]]
    found = {row["id"]: row for row in read_rows(tmp_path / "out.jsonl")}
    assert {name: row["health"] for name, row in found.items()} == {
        "strong": "ok",
        "paid": "exploitable",
        "broken": "broken",
        "idle": "vacuous",
    }
    assert {"attack": "empty-list", "code": "def f(xs):\n    return []\n"} in found["paid"]["paid"]
    assert found["paid"]["strength"] == 0.0
    assert "paid: submissions that solve nothing pass: empty-list" in done.stdout
    assert "4 problems: " in done.stdout
    assert "Kept 2 of 4 problems, those with a strength of 0.75 or more" in done.stdout
    assert "4 problems, up to 29 runs each" in done.stderr
    assert "<h1" in (tmp_path / "page.html").read_text()

    again = run("check", "problems.jsonl", "-o", "out.jsonl", "--resume", "--json")
    assert again.returncode == 0, again.stderr
    summary = json.loads(again.stdout)
    assert summary["healths"] == {"ok": 1, "exploitable": 1, "broken": 1, "vacuous": 1}
    assert summary["runs"] == sum(row["runs"] for row in found.values())
    assert "0 problems, up to 29 runs each" in again.stderr
    assert len(read_rows(tmp_path / "out.jsonl")) == 4


def test_run_resumes_where_it_stopped(tmp_path: Path, run: Run) -> None:
    write_rows(tmp_path / "problems.jsonl", ROWS)
    least = ("--no-attacks", "--mutants", "0")
    done = run("check", "problems.jsonl", "-o", "out.jsonl", "--limit", "2", *least)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out.jsonl").open("a") as file:
        file.write('{"id": "bro')
    done = run("check", "problems.jsonl", "-o", "out.jsonl", "--resume", *least)
    assert done.returncode == 0, done.stderr
    assert sorted(row["id"] for row in read_rows(tmp_path / "out.jsonl")) == sorted(
        str(row["task_id"]) for row in ROWS
    )
    done = run("check", "problems.jsonl", "-o", "out.jsonl", "--resume")
    assert done.returncode == 2
    assert "other settings" in done.stderr


def test_stopped_run_is_continued(
    tmp_path: Path,
    run: Run,
    start: "Callable[..., subprocess.Popen[str]]",
    eventually: Callable[[Callable[[], bool], float], None],
) -> None:
    slow = {"code": f"import time\ntime.sleep(0.2)\n{SORTED}", "test_list": ["assert f([]) == []"]}
    rows = [{"task_id": str(number), **slow} for number in range(10)]
    write_rows(tmp_path / "problems.jsonl", rows)
    command = ("check", "problems.jsonl", "-o", "out.jsonl", "--mutants", "1", "--no-attacks")
    out = tmp_path / "out.jsonl"
    process = start(*command)
    eventually(lambda: out.exists() and out.read_bytes().count(b"\n") >= 2, 60)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command with --resume continues it" in stderr
    before = len(read_rows(out))
    assert 2 <= before < 10
    assert f"{before} problems: " in stdout
    done = run(*command, "--resume")
    assert done.returncode == 0, done.stderr
    assert f"{10 - before} problems, up to 5 runs each" in done.stderr
    assert "10 problems: " in done.stdout
    assert len({row["id"] for row in read_rows(out)}) == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--keep", "k.jsonl"), "give both"),
        (("--min-strength", "0.5"), "give both"),
        (("--keep", "k.jsonl", "--min-strength", "0.5", "--mutants", "0"), "raise --mutants"),
        (("--resume",), "name OUT with -o"),
        (("-o", "a.jsonl", "--report", "a.jsonl"), "give each its own"),
        (("--report", "problems.jsonl"), "is the file of problems"),
        (("--report", "there.html"), "exists"),
        (("--report", "absent/page.html"), "there is no folder absent"),
        (("--min-strength", "2", "--keep", "k.jsonl"), "less than or equal to 1"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "problems.jsonl", ROWS)
    (tmp_path / "there.html").write_text("mine")
    assert app.run(["check", "problems.jsonl", *options]) == 2
    assert message in " ".join(capfd.readouterr().err.replace("│", " ").split())
    assert (tmp_path / "there.html").read_text() == "mine"


def test_page_that_cannot_be_made_is_refused_before_the_work(
    tmp_path: Path, run: Run, environment: dict[str, str]
) -> None:
    write_rows(tmp_path / "problems.jsonl", ROWS)
    (tmp_path / "pygal.py").write_text("raise ImportError")
    environment["PYTHONPATH"] = f"{tmp_path}:{environment['PYTHONPATH']}"
    done = run("check", "problems.jsonl", "-o", "out.jsonl", "--report", "page.html")
    assert done.returncode == 2
    assert "pip install 'grader-rl[report]'" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()
