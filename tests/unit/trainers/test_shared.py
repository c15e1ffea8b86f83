"""What trainers hand over, read as text, labels and plain data."""

import subprocess
import sys
from typing import Any

import pytest

from grader.rewards.arguments import response_of, text_of
from grader.trainers.shared import label_of


def said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


PARTS = [{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param("plain", "plain", id="text"),
        pytest.param([said("system", "s"), said("user", "u")], "u", id="last message"),
        pytest.param([said("user", PARTS)], "a b", id="parts"),
        pytest.param(said("user", "u"), "u", id="one message"),
        pytest.param([], "", id="no message"),
        pytest.param(None, "", id="nothing"),
        pytest.param(7, "", id="number"),
        pytest.param([said("user", None)], "", id="no content"),
    ],
)
def test_text_of_prompt(given: object, text: str) -> None:
    assert text_of(given) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        pytest.param("plain", "plain", id="text"),
        pytest.param([said("assistant", "a")], "a", id="one turn"),
        pytest.param([said("assistant", "a"), said("tool", "t")], "a", id="tool speaks last"),
        pytest.param(
            [said("assistant", "a"), said("tool", "t"), said("assistant", "b")], "b", id="last turn"
        ),
        pytest.param([said("assistant", PARTS)], "a b", id="parts"),
        pytest.param([said("user", "u")], "", id="nobody answers"),
    ],
)
def test_response_of_completion(given: object, text: str) -> None:
    assert response_of(given) == text


def test_label_of_row_is_its_column_else_the_row() -> None:
    assert label_of({"label": "assert f()", "prompt": "p"}) == "assert f()"
    assert label_of({"label": None, "test_list": ["assert f()"]}) == {
        "label": None,
        "test_list": ["assert f()"],
    }


@pytest.mark.parametrize("name", ["areal", "rllm", "trl", "verifiers", "verl"])
def test_adapter_imports_no_trainer(name: str) -> None:
    program = f"import sys, grader.trainers.{name}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert f"grader.trainers.{name}" in loaded
    assert loaded.isdisjoint({name, "docker", "celery", "numpy", "torch", "transformers"})
