"""Labels are read alike in this process and in another one, which dies at limits."""

import base64
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.model import MiB, StdinCase, StdinTests, TestSuite
from grader.model.errors import GraderError, LabelError, ReaderLostError
from grader.suites import FORMATS, Format, ProblemIndex, parse_label, parse_problem, reading
from grader.suites.cases import MOST_CASES
from grader.suites.files import check_foreign
from grader.suites.reading import read_label
from sandbox_images.harness.wire.frames import FrameReader, encode
from tests.factories import make_suite

PADDING = " " * reading.CHEAP_CHARS


class OneProblem:
    """Problems with a single one."""

    def get(self, problem_id: str) -> TestSuite | None:
        return make_suite() if problem_id == "HumanEval/0" else None


def packed(data: bytes) -> str:
    """Return packed tests that unfold to these bytes of a pickle."""
    return base64.b64encode(zlib.compress(data, 9)).decode()


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_large_label_is_read_as_a_small_one(form: Format) -> None:
    text = json.dumps(form.example)
    problems = OneProblem()
    large = read_label(text + PADDING, problems=problems)
    assert large == parse_label(text, problems=problems)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
LABELS = (
    st.fixed_dictionaries(
        {"inputs": st.lists(JSON, max_size=2), "outputs": st.lists(JSON, max_size=2)},
        optional={"fn_name": st.just("f")},
    )
    | st.lists(st.sampled_from(["assert f(1) == 2", "assert f(", "def check(f): ..."]))
    | st.fixed_dictionaries({"problem": st.text(max_size=2) | st.just("HumanEval/0")})
    | JSON
)


@given(label=LABELS)
@settings(max_examples=40, deadline=None)
def test_suite_or_error_is_the_same_wherever_a_label_is_read(label: object) -> None:
    problems = OneProblem()
    text = json.dumps(label)
    assert _outcome(text + PADDING, problems) == _outcome(text, problems)


def _outcome(text: str, problems: OneProblem) -> object:
    try:
        # Not as ==: NaN in a suite differs from itself.
        return repr(read_label(text, problems=problems))
    except GraderError as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    "label",
    [
        pytest.param(packed(b"\x80\x04](" + b"]" * 900_000 + b"e."), id="many lists"),
        pytest.param(packed(pickle.dumps(f"[{'1,' * 10_000_000}1]")), id="much JSON in text"),
        pytest.param(packed(pickle.dumps(f"['', {'1,' * 400_000}1]")), id="much of a literal"),
        pytest.param(packed(pickle.dumps(f"[{'9' * 300_000}]" * 9)), id="long integers"),
    ],
)
def test_label_that_unfolds_hits_the_limit_of_time_once(
    label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LEAST_CPU_S", 0.01)
    monkeypatch.setattr(reading, "CPU_S_PER_CHAR", 0)
    # Escapes can hide packed tests.
    hidden = json.dumps({"inputs": label, "outputs": []}).replace("eN", "\\u0065N", 1)
    literal = f"{{'inputs': 'e\\\n{label[1:]}', 'outputs': ()}}"
    for text in (label, hidden, literal):
        with pytest.raises(LabelError, match=r"reading the tests takes more than 0\.01 s of CPU"):
            read_label(text)
        with pytest.raises(LabelError, match="not tried again for 10 minutes"):
            read_label(text)
    monkeypatch.undo()
    assert read_label(["assert f(1) == 2", PADDING]).format == "assert_list"


def test_label_that_unfolds_hits_the_limit_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MEMORY_BYTES", 256 * MiB)
    with pytest.raises(LabelError, match="takes more than 256 MiB of memory"):
        read_label(packed(pickle.dumps(f"[{'[],' * 4_000_000}1]")))


def test_number_of_values_is_held_to_a_limit() -> None:
    label = {"fn_name": "f", "inputs": [[[7] * 20_000]], "outputs": [1]}
    assert read_label(label, most_values=30_000) == parse_label(label)
    with pytest.raises(LabelError, match="the tests hold more than 10000 values"):
        read_label(label, most_values=10_000)


def test_label_whose_process_is_killed_is_not_to_blame() -> None:
    asked = threading.Event()

    class KilledMeanwhile:
        def get(self, _: str) -> TestSuite | None:
            asked.set()
            done.wait()
            return None

    done = threading.Event()
    label = '{"problem": "HumanEval/0"}' + PADDING
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(read_label, label, problems=KilledMeanwhile())
        asked.wait()
        for process in _children():
            os.kill(process, signal.SIGKILL)
        done.set()
        with pytest.raises(ReaderLostError, match="ended with -9"):
            waiting.result()
    assert read_label(label, problems=OneProblem()).format == make_suite().format


def test_process_that_took_much_memory_frees_nothing_by_itself() -> None:
    code = (
        "import atexit; from grader.suites import reading_process as process;"
        " process._KEPT_BYTES = 0; atexit.register(print, 'tidied'); process.main()"
    )
    order = {
        "kind": reading.LabelKind.LABEL,
        "cpu_time_s": reading.MOST_CPU_S,
        "memory_bytes": reading.MEMORY_BYTES,
        "has_problems": False,
    }
    told = subprocess.run(
        [sys.executable, "-c", code], input=encode(order, b"{}"), check=True, capture_output=True
    )
    ((header, _),) = FrameReader().feed(told.stdout)
    assert header["op"] == "error"
    assert b"tidied" not in told.stdout


def test_large_labels_that_name_large_problems_do_not_wait_for_each_other(tmp_path: Path) -> None:
    rows = [{"id": str(n), "inputs": ["2"], "outputs": ["4"], "x": PADDING} for n in range(6)]
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    labels = [json.dumps({"problem": row["id"]}) + PADDING for row in rows]
    with ProblemIndex.load(path) as problems, ThreadPoolExecutor(6) as threads:
        suites = list(threads.map(lambda label: read_label(label, problems=problems), labels))
    assert [suite.problem_id for suite in suites] == [row["id"] for row in rows]


@pytest.mark.parametrize(("number", "is_taken"), [(MOST_CASES, True), (MOST_CASES + 1, False)])
def test_number_of_cases_is_held_to_its_limit(number: int, is_taken: bool) -> None:
    label = {"inputs": ["1"] * number, "outputs": ["1"] * number}
    if is_taken:
        assert len(parse_label(label).tests.cases) == number  # type: ignore[union-attr]
        return
    for read in (parse_label, parse_problem):
        with pytest.raises(LabelError, match="has 20001 cases; at most 20000 are graded"):
            read(label)
    cases = (StdinCase(id="0", stdin="1", expected="1"),) * number
    with pytest.raises(LabelError, match="at most 20000 are graded"):
        check_foreign(make_suite(StdinTests(cases=cases)))


def _children() -> list[int]:
    threads = Path("/proc/self/task").iterdir()
    children = [pid for each in threads for pid in (each / "children").read_text().split()]
    return [
        int(pid)
        for pid in children
        if "grader.suites.reading_process" in Path(f"/proc/{pid}/cmdline").read_text()
    ]
