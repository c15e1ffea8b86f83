"""NeMo-Gym's own server answers with our rewards; NeMo-RL is called as its source does it."""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from grader.model.errors import GraderError
from grader.trainers import nemo_rl
from tests.releases import PUBLISHED, Span, cells, installed, release
from tests.stand_ins import Anything, put_aside, stand_ins
from tests.tools import load_file

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.usefixtures("native_rewards"),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
]

DOUBLE = "```python\ndef double(n):\n    return 2 * n\n```"
RIGHT, WRONG = "assert double(2) == 4", "assert double(2) == 5"

# ---------------------------------------------------------------- NeMo-Gym

fastapi = installed("fastapi", "itsdangerous", "omegaconf", "openai", "orjson", "torch")


UNUSED = ("devtools", "gprof2dot", "hydra", "mlflow", "pydot", "ray", "wandb", "yappi")
"""What NeMo-Gym imports for logs and clusters, and does not use here."""


@pytest.fixture
def app(repo_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Returns NeMo-Gym's own web application around the example, for a release."""

    def load(version: str, **config: Any) -> Any:
        root = str(release("nemo_gym", version, python="3.12"))
        sys.path.insert(0, root)
        kind = load_file(repo_dir / "examples/nemo_gym/app.py").CodeServer
        settings = kind.model_fields["config"].annotation(
            host="127.0.0.1", port=1, entrypoint="app.py", name="grader", domain="coding", **config
        )
        client = SimpleNamespace(global_config_dict={})
        return kind.model_construct(config=settings, server_client=client).setup_webserver()

    path = [*sys.path]
    monkeypatch.setattr("builtins.print", print)  # which NeMo-Gym replaces
    with put_aside("nemo_gym"), stand_ins(*UNUSED):
        yield load
        importlib.import_module("omegaconf").OmegaConf.clear_resolvers()
    sys.path[:] = path


def verify(app: Any, answer: str, row: dict[str, Any]) -> Any:
    """Post a rollout, as an agent does."""
    from fastapi.testclient import TestClient

    text = {"type": "output_text", "text": answer, "annotations": []}
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    response = {
        "id": "r",
        "created_at": 0,
        "model": "m",
        "object": "response",
        "output": [message],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }
    asked = {"input": [{"role": "user", "content": "Double it."}]}
    body = {"responses_create_params": asked, "response": response, "verifier_metadata": row}
    return TestClient(app).post("/verify", json=body)


GYM = Span()


@pytest.mark.parametrize("version", cells("NeMo-Gym", "resources server", GYM))
def test_server_verifies_rollouts_by_label_or_unit_tests(version: str, app: Any) -> None:
    server = app(version)
    program = "```python\nprint(2 * int(input()))\n```"
    tests = {"inputs": ["2\n", "5\n"], "outputs": ["4\n", "10\n"], "fn_name": None}
    rows: list[tuple[str, dict[str, Any], float]] = [
        (DOUBLE, {"label": RIGHT}, 1.0),
        (DOUBLE, {"label": WRONG}, 0.0),
        (program, {"unit_tests": tests, "difficulty": "easy"}, 1.0),
        ("So \\boxed{42}.", {"label": '{"math": "42"}'}, 1.0),
    ]
    answers = [verify(server, answer, row) for answer, row, _ in rows]
    assert [answer.status_code for answer in answers] == [200] * len(rows), answers[0].text
    assert [answer.json()["reward"] for answer in answers] == [row[2] for row in rows]
    assert answers[0].json()["note"].startswith("passed 1/1: ")
    assert answers[2].json()["verifier_metadata"]["difficulty"] == "easy"


@pytest.mark.parametrize("version", cells("NeMo-Gym", "leaving out (raise)", GYM))
def test_rollout_that_could_not_be_graded_fails_unless_set_otherwise(
    version: str, app: Any
) -> None:
    with pytest.raises(GraderError, match="not graded: LabelError: "):
        verify(app(version), DOUBLE, {"label": "no tests"})
    answer = verify(app(version, raise_ungraded=False), DOUBLE, {"label": "no tests"}).json()
    assert (answer["reward"], answer["graded"]) == (0.0, 0.0)


# ---------------------------------------------------------------- NeMo-RL


class EnvironmentReturn(NamedTuple):
    """As NeMo-RL's source has it."""

    observations: Any
    metadata: Any
    next_stop_strings: Any
    rewards: Any
    terminateds: Any
    answers: Any = None


@pytest.fixture
def _nemo_rl(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is used of NeMo-RL, which is on no package index, and of Ray."""
    members: dict[str, dict[str, Any]] = {
        "nemo_rl": {},
        "nemo_rl.environments": {},
        "nemo_rl.distributed": {},
        "nemo_rl.environments.interfaces": {
            "EnvironmentReturn": EnvironmentReturn,
            "EnvironmentInterface": type("EnvironmentInterface", (), {}),
        },
        "nemo_rl.environments.utils": {"register_env": _REGISTERED.__setitem__},
        "nemo_rl.distributed.ray_actor_environment_registry": {"ACTOR_ENVIRONMENT_REGISTRY": {}},
        "nemo_rl.distributed.virtual_cluster": {"PY_EXECUTABLES": SimpleNamespace(SYSTEM="py")},
        "ray": {"remote": lambda cls: cls},
    }
    for name, values in members.items():
        module = Anything(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)


_REGISTERED: dict[str, str] = {}


@pytest.mark.usefixtures("_nemo_rl")
@pytest.mark.trainer("NeMo-RL", PUBLISHED, "environment", "")
def test_registered_environment_grades_a_batch_in_one_turn() -> None:
    nemo_rl.register("grader")
    module, _, name = _REGISTERED["grader"].rpartition(".")
    environment = getattr(importlib.import_module(module), name)({})
    logs = [
        [{"role": "user", "content": "Double it."}, {"role": "assistant", "content": answer}]
        for answer in (DOUBLE, DOUBLE, DOUBLE, "So \\boxed{42}.")
    ]
    rows = [
        {"label": RIGHT},
        {"test_list": [WRONG]},
        {"label": "no tests"},
        {"label": {"math": "42"}},
    ]
    found = environment.step(logs, rows)
    assert found.rewards.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert found.terminateds.tolist() == [True] * 4
    assert [row["graded"] for row in found.metadata] == [1.0, 1.0, 0.0, 1.0]
    assert found.observations[0]["role"] == "environment"
    assert found.observations[2]["content"].startswith("not graded: LabelError: ")
    assert found.answers[3] == "42"


@pytest.mark.usefixtures("_nemo_rl")
def test_environment_takes_nothing_for_answers_that_did_not_end() -> None:
    import torch

    batch = {"rewards": torch.tensor([1.0, 1.0]), "is_end": torch.tensor([True, False])}
    _, metrics = nemo_rl.CodeGrading().global_post_process_and_metrics(batch)
    assert batch["rewards"].tolist() == [1.0, 0.0]
    assert metrics == {"mean_reward": 0.5, "fraction_of_samples_properly_ended": 0.5}


def test_module_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = nemo_rl.Nothing
