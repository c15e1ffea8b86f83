"""`grader try` loads any reward file by its path and shows its rewards for rows."""

import json
from pathlib import Path

import pytest

from grader.cli.app import run
from grader.rewards.core import forget_shared_core

REWARD_FILE = """
def reward_func(queries, prompts, labels):
    assert len(queries) == 1
    if labels[0] == "raise":
        raise ValueError("no such label")
    value = [float(len(queries[0]) - len(prompts[0]))]
    return {"rewards": value, "scores": [0.5], "extra_logs": {"seen": [1.0], "nothing": [0.0]}}
"""


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_DEBUG", "0")


@pytest.fixture
def reward_file(tmp_path: Path) -> str:
    path = tmp_path / "my_reward.py"
    path.write_text(REWARD_FILE)
    return str(path)


@pytest.fixture
def data(tmp_path: Path) -> str:
    rows = [{"prompt": "Q", "response": "x" * n, "label": "l"} for n in range(1, 6)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_first_three_rows_are_tried(
    reward_file: str, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["try", reward_file, data]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith("row")] == [
        "row 1",
        "row 2",
        "row 3",
    ]
    assert "reward +3.0000  score 0.5000" in out
    assert "seen 1" in out
    assert "nothing" not in out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("nosuch.py", "there is no file", id="missing"),
        pytest.param("rows.jsonl", "is not a Python file; expected a name", id="not Python"),
    ],
)
def test_missing_file_and_file_of_another_kind_are_told_apart(
    data: str, name: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["try", str(Path(data).parent / name), data]) == 2
    assert told in capsys.readouterr().err


def test_named_rows_are_tried(
    reward_file: str, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["try", reward_file, "--row", "5", "--row", "2", data]) == 0
    out = capsys.readouterr().out
    assert "row 2" in out
    assert "row 5" in out
    assert "row 1" not in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--row", "9"], "has no row 9"),
        (["--response-key", "answer"], "no column 'answer'"),
        (["--label-key", "tests"], "no column 'tests'"),
    ],
)
def test_missing_file_or_column_is_named(
    reward_file: str,
    data: str,
    options: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["try", reward_file, data, *options]) == 2
    assert message in capsys.readouterr().err


def test_function_that_raises_is_reported(
    reward_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "bad.jsonl"
    rows.write_text(json.dumps({"response": "x", "label": "raise"}) + "\n")
    assert run(["try", reward_file, str(rows)]) == 3
    assert "failed: ValueError: no such label" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_module_anywhere", "no_such_module_anywhere"),
        ("raise SystemExit(0)", "does not load: SystemExit: 0"),
    ],
)
def test_file_that_does_not_load_is_reported(
    source: str, message: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(source)
    assert run(["try", str(broken), data]) == 2
    assert message in capsys.readouterr().err
    assert run(["try", "nowhere.py", data]) == 2


def test_row_without_a_response_is_tried_with_the_solution_of_its_label(
    reward_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = {
        "task_id": "one",
        "code": "def f():\n    return 1\n",
        "test_list": ["assert f() == 1"],
    }
    rows = tmp_path / "prompts.jsonl"
    rows.write_text(json.dumps({"prompt": "Q", "label": json.dumps(problem)}) + "\n")
    assert run(["try", reward_file, str(rows)]) == 0
    out = capsys.readouterr().out
    assert "tried with the reference solution of its label" in out
    assert f"reward +{len('```python') + len(problem['code']) + 6}.0000" in out


def test_row_without_a_response_or_a_solution_is_refused(
    reward_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "prompts.jsonl"
    rows.write_text(json.dumps({"prompt": "Q", "label": "assert f() == 1"}) + "\n")
    assert run(["try", reward_file, str(rows)]) == 2
    assert "row 1 has no response" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "rows", "code", "message"),
    [
        pytest.param(REWARD_FILE, "", 3, "has no rows: nothing was tried", id="no row"),
        pytest.param(REWARD_FILE, '{"label": 1}\n[]\n', 2, "row 1 has no response", id="no field"),
        pytest.param(REWARD_FILE, "[1]\n", 2, "row 1: JSON, but an array", id="no object"),
        pytest.param("x = 1", "{}", 2, "defines no reward_func(", id="no function"),
    ],
)
def test_untriable_input_is_reported(
    tmp_path: Path,
    program: str,
    rows: str,
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "reward.py").write_text(program)
    (tmp_path / "rows.jsonl").write_text(rows)
    assert run(["try", str(tmp_path / "reward.py"), str(tmp_path / "rows.jsonl")]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("result", "code", "message"),
    [
        pytest.param("0.25", 0, "reward +0.2500", id="number"),
        pytest.param("True", 0, "reward +1.0000", id="truth value"),
        pytest.param("[0.25]", 0, "It returned a list. OpenRLHF takes a dict", id="list"),
        pytest.param("[None]", 0, "reward None: not graded", id="list with None"),
        pytest.param("array.array('d', [0.25])", 0, "reward +0.2500", id="array"),
        pytest.param("{'score': 0.25}", 0, "a dict with score as a float", id="dict of a number"),
        pytest.param("{'rewards': [0.25]}", 0, "reward +0.2500", id="dict without scores"),
        pytest.param("[0.25, 0.5]", 3, "2 values as the reward for 1 sample; expected 1", id="two"),
        pytest.param("[]", 3, "0 values as the reward for 1 sample", id="empty list"),
        pytest.param("'good'", 3, "returned str as the reward; expected a number", id="text"),
        pytest.param("None", 0, "reward None: not graded", id="nothing"),
        pytest.param("{}", 3, "a dict with the keys none; expected rewards. OpenRLHF", id="keys"),
        pytest.param("float('nan')", 3, "the reward nan; expected a finite number", id="nan"),
    ],
)
def test_result_in_the_form_of_any_trainer_is_shown_or_refused(
    data: str,
    tmp_path: Path,
    result: str,
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        f"import array\n\ndef reward_func(queries, prompts, labels):\n    return {result}\n"
    )
    assert run(["try", str(file), data, "--row", "1"]) == code
    shown = capsys.readouterr()
    assert message in shown.out + shown.err


@pytest.mark.usefixtures("native_sandbox")
def test_policy_is_tried_on_graded_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_POLICY", "graded")  # Put back when the test ends.
    monkeypatch.setenv("GRADER_SLOTS", "1")
    forget_shared_core()
    policy = tmp_path / "policy.py"
    policy.write_text(
        "def reward(report):\n    return 0.25 + 1 / report.passed if report.passed < 2 else 0.5\n"
    )
    rows = tmp_path / "rows.jsonl"
    label = ["assert f(1) == 1", "assert f(2) == 4"]
    codes = ("return x * x", "return x", "return 0")
    responses = [f"def f(x): {code}" for code in codes]
    rows.write_text("".join(json.dumps({"response": r, "label": label}) + "\n" for r in responses))
    assert run(["try", f"{policy}:reward", str(rows)]) == 3
    forget_shared_core()
    out = capsys.readouterr().out
    assert "reward +0.5000  score 1.0000" in out
    assert "reward +1.2500  score 0.0000" in out
    assert "the policy" in out
    assert "raised ZeroDivisionError" in out


VERL = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": len(solution_str) + 10 * (ground_truth == "l"), "acc": 1.0}
"""
ASYNC_VERL = """
async def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return len(solution_str) + 10 * (ground_truth == "l")
"""
TRL = """
from textwrap import dedent

def short(prompts, completions, label, **columns):
    return [len(each) + 10 * (label == ["l"]) for each in completions]
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(VERL, id="verl"),
        pytest.param(ASYNC_VERL, id="verl, async"),
        pytest.param(TRL, id="TRL"),
    ],
)
def test_function_is_called_as_its_trainer_calls_it(
    program: str, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(program)
    assert run(["try", str(tmp_path / "mine.py"), data, "--row", "2"]) == 0
    assert "reward +12.0000" in capsys.readouterr().out


def test_file_with_several_functions_for_trl_is_refused(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(f"{TRL}\n{TRL.replace('short', 'polite')}")
    assert run(["try", str(tmp_path / "mine.py"), data]) == 2
    assert "as TRL calls it; it has short and polite" in capsys.readouterr().err
