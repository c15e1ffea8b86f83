"""What a reward function records: every kind of sample, with the reward that it got."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.config.rewards import RewardSettings, RewardTask
from grader.config.settings import Settings
from grader.model.verdict import Verdict
from grader.report.index import GradedFile
from grader.rewards.agents.repair import RepairAgent
from grader.rewards.core import RewardCore, forget_shared_core
from grader.rewards.sample import Sample
from grader.trainers import slime, trl, verl
from tests.factories import make_report
from tests.unit.rewards.test_core import REPORTS, ScriptedGrader


@pytest.fixture
def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Set this process up as a trainer's that records; return the folder."""
    monkeypatch.setenv("GRADER_RECORD", str(tmp_path / "run"))
    monkeypatch.setenv("GRADER_REWARD_CHECK", "0")
    forget_shared_core()
    yield tmp_path / "run"
    forget_shared_core()


def recording(folder: Path, reward: RewardSettings | None = None) -> RewardCore:
    settings = Settings(record=folder, reward=reward or RewardSettings())
    reports = {**REPORTS, "Q: right": REPORTS["right"], "wrong": make_report(Verdict.FAILED)}
    return RewardCore(settings, open_grader=lambda _: ScriptedGrader(reports))


LABEL = json.dumps({"id": "double", "assert_case": ["assert f(1) == 1"]})


def test_every_kind_of_sample_is_recorded_with_its_reward(tmp_path: Path) -> None:
    core = recording(tmp_path, RewardSettings(normalise=100))
    core.rate(
        [
            Sample(query="Q: right", prompt="Q: ", label=LABEL),
            Sample(query="half", label=LABEL, step=7, dataset="mine"),
            Sample(query="lost", label=LABEL),
            Sample(query=r"\boxed{4}", prompt="2 + 2?", label={"math": "4"}),
            Sample(query="x", label={"combine": "nonsense"}),
        ]
    )
    core.close()
    found = GradedFile(tmp_path)
    assert [(e.verdict, e.reward, e.policy) for e in found.entries] == [
        (Verdict.PASSED, 1.0, "binary"),
        (Verdict.FAILED, 0.3, "binary"),
        (Verdict.INTERNAL_ERROR, 0.0, "graded"),
        (Verdict.PASSED, 1.0, "math"),
        (Verdict.INTERNAL_ERROR, 0.0, "graded"),
    ]
    assert [e.problem for e in found.entries[:3]] == ["double"] * 3
    assert (found.entries[1].step, found.entries[1].dataset) == (7, "mine")
    assert found.entries[0].queue_s is not None
    rows = [found.read(entry) for entry in found.entries]
    assert [row.completion for row in rows[:2]] == ["right", "half"]
    assert rows[2].report.feedback == "the slot burnt down"


def test_samples_without_an_id_share_that_of_their_prompt(tmp_path: Path) -> None:
    core = recording(tmp_path)
    label = {"math": "4"}
    core.rate([Sample(query=text, prompt="2 + 2?", label=label) for text in ("4", "5")])
    core.rate([Sample(query="4", prompt="1 + 3?", label=label)])
    core.close()
    one, two, three = (entry.problem for entry in GradedFile(tmp_path).entries)
    assert one == two != three


def test_attempts_of_an_agent_are_recorded(tmp_path: Path) -> None:
    core = recording(tmp_path)
    agent = RepairAgent(core)
    episode = agent.begin("", LABEL)
    agent.step(episode, "wrong")
    core.close()
    assert [e.verdict for e in GradedFile(tmp_path).entries] == [Verdict.FAILED]


def test_trainers_pass_their_step_and_data_set_on(trainer: Path) -> None:
    rewards = trl.code_reward(
        prompts=["2 + 2?"],
        completions=[r"\boxed{4}"],
        label=[{"math": "4"}],
        data_source=["sums"],
        trainer_state=SimpleNamespace(global_step=40),
    )
    assert rewards == [1.0]
    asyncio.run(verl.compute_score("math", r"\boxed{5}", "4"))
    for versions in (["default"], ["6", "7"], []):
        given = SimpleNamespace(
            prompt="",
            response=r"\boxed{4}",
            label={"math": "4"},
            metadata={"source": "s"},
            remove_sample=False,
            weight_versions=versions,
        )
        asyncio.run(slime.code_reward(None, given))
    found = GradedFile(trainer).entries
    assert [(e.step, e.dataset, e.reward) for e in found] == [
        (40, "sums", 1.0),
        (None, "math", 0.0),
        (None, "s", 1.0),
        (7, "s", 1.0),
        (None, "s", 1.0),
    ]


def test_forked_process_records_to_a_file_of_its_own(trainer: Path) -> None:
    row: dict[str, Any] = {
        "prompts": ["2 + 2?"],
        "completions": [r"\boxed{4}"],
        "label": [{"math": "4"}],
    }
    trl.code_reward(**row)
    child = os.fork()
    if child == 0:
        trl.code_reward(**row)
        os._exit(0)
    os.waitpid(child, 0)
    trl.code_reward(**row)
    assert len(list(trainer.iterdir())) == 2
    assert len(GradedFile(trainer).entries) == 3


def test_task_without_tests_can_be_set(tmp_path: Path) -> None:
    core = recording(tmp_path)
    core.rate([Sample(query="4", label="4")], task=RewardTask.MATH)
    core.close()
    assert GradedFile(tmp_path).entries[0].dataset == "math"
