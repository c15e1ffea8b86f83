"""A report in one file: its content, and its bounded size."""

import base64
import json
import random
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.cli.app import run
from grader.model.verdict import Suspicion, Verdict
from grader.report.document import Document
from grader.report.index import GradedFile
from tests.factories import make_report
from tests.graded import Row, write_graded


def blocks_of(html: str) -> dict[str, Any]:
    found = re.search(
        r'<script type="application/json" id="blocks">(.*?)</script>', html, re.DOTALL
    )
    assert found is not None
    return dict(json.loads(found[1]))


def unpacked(block: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(block), -15))


def test_one_file_holds_every_sample_if_there_is_room(tmp_path: Path) -> None:
    rows = [Row(id=f"s{n}", report=make_report(Verdict.FAILED)) for n in range(60)]
    html = Document(GradedFile(write_graded(tmp_path / "a.jsonl", rows))).one_file()
    blocks = blocks_of(html)
    table = unpacked(blocks["tables"])["samples"]
    for row in table["rows"]:
        sample = dict(zip(table["columns"], row, strict=True))
        number, place = sample["block"]
        assert f">{sample['name']}</h2>" in unpacked(blocks["samples"][number])[place]
    assert not re.search(r"(src|href)=[\"'](?!#|data:)", html)


@pytest.mark.parametrize(
    ("rewards", "is_shown"),
    [
        pytest.param((-1.0, 0.0, 1.0), False, id="the same bars"),
        pytest.param((-1.0, -1.0, 1.0), True, id="other bars"),
    ],
)
def test_scores_are_a_chart_of_their_own_only_if_rewards_differ(
    tmp_path: Path, rewards: tuple[float, ...], is_shown: bool
) -> None:
    rows = [
        Row(id=f"s{n}", report=replace(make_report(), score=score, reward=reward))
        for n, (score, reward) in enumerate(zip((0.0, 0.5, 1.0), rewards, strict=True))
    ]
    page = Document(GradedFile(write_graded(tmp_path / "a.jsonl", rows))).main
    assert ("<b>Scores</b>" in page) == is_shown


def test_one_file_holds_the_most_interesting_samples_if_room_is_short(tmp_path: Path) -> None:
    noise = random.Random(1)  # noqa: S311 - text that does not compress
    rows = [
        Row(
            id=f"s{n}",
            completion=noise.randbytes(1000).hex(),
            report=make_report(
                Verdict.PASSED if n % 2 else Verdict.FAILED,
                suspicion=(Suspicion.NETWORK,) if n == 199 else (),
            ),
        )
        for n in range(200)
    ]
    made = Document(GradedFile(write_graded(tmp_path / "a.jsonl", rows)))
    html = made.one_file(250_000)
    assert len(html.encode()) < 260_000
    held = {row[1] for row in unpacked(blocks_of(html)["tables"])["samples"]["rows"] if row[-1]}
    assert len(held) == made.pages_held
    assert 48 <= made.pages_held < 200
    assert "s199" in held
    assert held - {"s199"} <= {f"s{n}" for n in range(0, 200, 2)}


def test_report_writes_a_page_and_replaces_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_graded(tmp_path / "a.jsonl", [Row(report=make_report())])
    page = tmp_path / "report.html"
    assert run(["report", str(file), "-o", str(page)]) == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert "1 sample," in capsys.readouterr().err
    assert run(["report", str(file), "-o", str(page)]) == 2
    assert run(["report", str(file), "-o", str(page), "--force"]) == 0
    assert run(["report", str(file)]) == 2
    assert run(["report", str(file), "-o", str(page), "--serve"]) == 2


@pytest.mark.parametrize(
    ("options", "is_shown"),
    [
        pytest.param((), False, id="without problems"),
        pytest.param(("--problems", "problems.jsonl"), True, id="with problems"),
    ],
)
def test_problems_give_prompts_and_references_to_samples_without_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], is_shown: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    problem = {
        "task_id": "sums",
        "prompt": "def add(a, b):\n    # <adds two numbers>\n",
        "canonical_solution": "    return b + a  # the reference\n",
        "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n",
        "entry_point": "add",
    }
    Path("problems.jsonl").write_text(json.dumps(problem), "utf-8")
    rows = [Row(id=name, problem=name, report=make_report()) for name in ("sums", "unknown")]
    write_graded(Path("a.jsonl"), rows)
    assert run(["report", "a.jsonl", *options, "-o", "report.html"]) == 0
    known, unknown = unpacked(blocks_of(Path("report.html").read_text("utf-8"))["samples"][0])
    assert ("&lt;adds two numbers&gt;" in known) == is_shown
    assert ("the reference" in known) == is_shown
    assert "the reference" not in unknown


def test_problems_that_cannot_be_read_stop_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_graded(tmp_path / "a.jsonl", [Row(report=make_report())])
    page = tmp_path / "report.html"
    command = ["report", str(file), "-o", str(page), "--problems"]
    assert run([*command, str(tmp_path / "nosuch.jsonl")]) == 2
    assert "nosuch.jsonl" in capsys.readouterr().err
    unnamed = tmp_path / "unnamed.jsonl"
    unnamed.write_text('{"test_list": ["assert True"]}', "utf-8")
    assert run([*command, str(unnamed)]) == 2
    assert "found the fields test_list" in capsys.readouterr().err
    assert not page.exists()
