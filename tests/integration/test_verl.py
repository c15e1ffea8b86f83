"""verl's own loader and reward managers run our reward function."""

import ast
import asyncio
import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from grader.model.errors import ConfigurationError, GraderError
from grader.rewards.core import forget_shared_core
from grader.rewards.sample import LOG_KEYS
from grader.suites import parse_label
from grader.trainers import shared
from grader.trainers.verl import compute_score_sync
from tests.releases import Span, cells, release
from tests.verl_client import TOKENIZER, VERSION, Batch, Config, imported

pytestmark = [pytest.mark.timeout(90), pytest.mark.usefixtures("native_rewards")]

KEYS = {"score", "acc", *LOG_KEYS}

PACKAGE = "pkg://grader.trainers.verl"

ADD = "```python\ndef add(a, b):\n    return a + b\n```"


def config(**custom: Any) -> Config:
    """Return the part of verl's configuration that is about rewards, at its defaults else."""
    manager = custom.pop("manager", "naive")
    function = {"path": PACKAGE, "name": "compute_score", **custom}
    workers = {"num_workers": 8, "max_concurrent": 8}
    reward_manager = {"source": "register", "name": manager}
    return Config(
        {
            # Of 0.7.0, which had other names.
            "custom_reward_function": function,
            "reward_model": workers,
            "reward": {
                "custom_reward_function": function,
                "reward_manager": reward_manager,
                **workers,
            },
            "trainer": {"experiment_name": "a test"},
        }
    )


def rewarded(
    rows: list[tuple[str, Any]],
    *,
    version: str = VERSION,
    sources: list[str] | None = None,
    **custom: Any,
) -> list[dict[str, Any]]:
    """Have verl grade responses with their labels, all at once, as one of its workers does."""
    loaded = config(**custom)

    async def everything() -> list[dict[str, Any]]:
        manager = load(loaded, TOKENIZER)
        batches = [
            Batch(response, {"data_source": source, "reward_model": {"ground_truth": label}})
            for (response, label), source in zip(rows, sources or ["code"] * len(rows), strict=True)
        ]
        return list(await asyncio.gather(*(manager.run_single(batch) for batch in batches)))

    with imported(version) as get:
        reward = get("verl.trainer.ppo.reward")
        if version == "0.7.0":  # Its loader is for the older managers; its workers do this.
            managers = get("verl.experimental.reward_loop.reward_manager")
            kind = managers.get_reward_manager_cls(custom.get("manager", "naive"))

            def load(config: Any, tokenizer: Any) -> Any:
                function = reward.get_custom_reward_fn(config)
                return kind(config, tokenizer, function, None, None)

        else:
            load = reward.load_reward_manager
        return asyncio.run(everything())


def jsonl(path: Path, count: int) -> list[dict[str, Any]]:
    with path.open() as lines:
        return [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]


def real_rows(data: Path) -> list[tuple[str, Any, float]]:
    """Return real problems in several formats: a response, the label, and its reward."""
    rows: list[tuple[str, Any, float]] = []
    for problem in jsonl(data / "humaneval.jsonl", 4):
        body = problem["prompt"] + problem["canonical_solution"]
        rows.append((f"Sure.\n```python\n{body}```", json.dumps(problem), 1.0))
        wrong = problem["prompt"] + "    return 'no such value'\n"
        rows.append((f"Sure.\n```python\n{wrong}```", json.dumps(problem), 0.0))
    for problem in jsonl(data / "mbpp.jsonl", 4):
        rows.append((f"```python\n{problem['code']}\n```", problem, 1.0))
    for problem in jsonl(data / "apps_coderl_graded5.jsonl", 2):
        rows.append((f"```python\n{problem['solutions'][0]}\n```", problem["input_output"], 1.0))
        rows.append(("```python\nprint(\n```", problem["input_output"], -1.0))
    rows.append(("So \\boxed{42}.", '{"math": "42"}', 1.0))
    rows.append(("So \\boxed{41}.", {"math": "42"}, 0.0))
    return rows


def assert_stackable(results: list[dict[str, Any]]) -> None:
    """As verl makes columns of what a batch of samples returned."""
    infos = [result["reward_extra_info"] for result in results]
    for key in infos[0]:
        column = np.array([info[key] for info in infos])
        assert column.dtype == np.float64
        assert np.isfinite(column).all()
    assert all(set(info) == KEYS for info in infos)


@pytest.mark.parametrize("name", ["compute_score", "compute_score_sync"])
@pytest.mark.parametrize("manager", ["naive", "dapo"])
def test_loader_and_manager_give_right_rewards_for_mixed_real_rows(
    manager: str, name: str, shared_dir: Path
) -> None:
    rows = real_rows(shared_dir / "data")
    results = rewarded([row[:2] for row in rows], name=name, manager=manager)
    assert [result["reward_score"] for result in results] == [row[2] for row in rows]
    assert_stackable(results)
    assert {result["reward_extra_info"]["graded"] for result in results} == {1.0}


LOOP = {
    "naive": Span(first="0.7.0", differing=("0.7.0", "0.9.1")),
    "dapo": Span(first="0.7.0"),
    "rate_limited": Span(first="0.7.0"),
    "remote": Span(first="0.7.0"),
    "gdpo": Span(first="0.7.1"),
}
MIXED = [
    ("apps", ADD, "assert add(1, 2) == 3", 1.0),
    ("apps", ADD, "assert add(1, 2) == 4", 0.0),
    ("openai/gsm8k", "So it is 40 + 2.\n#### 42", "42", 1.0),
    ("aime2025", "It is \\boxed{7}.", "42", 0.0),
    ("my/answers", "It is \\boxed{42}.", "42", 1.0),
    ("elsewhere", ADD, "no tests", 0.0),
]


@pytest.mark.parametrize(
    ("version", "manager"),
    [
        pytest.param(*cell.values, manager, marks=cell.marks, id=f"{manager} {cell.values[0]}")
        for manager, span in LOOP.items()
        for cell in cells("verl", manager, span)
    ],
)
def test_managers_of_the_reward_loop_get_rewards_by_label_or_data_source(
    version: str, manager: str
) -> None:
    results = rewarded(
        [(response, label) for _, response, label, _ in MIXED],
        sources=[source for source, *_ in MIXED],
        version=version,
        manager=manager,
        name="compute_score_sync" if manager == "remote" else "compute_score",
        reward_kwargs={"sources": {"my/answers": "math"}},
    )
    assert [result["reward_score"] for result in results] == [row[3] for row in MIXED]
    assert_stackable(results)
    graded = [result["reward_extra_info"]["graded"] for result in results]
    assert graded == [1, 1, 1, 1, 1, 0]


GONE = "the releases from 0.7.1 on have no such manager"


@pytest.mark.parametrize(
    ("version", "manager"),
    [
        pytest.param(*cell.values, manager, marks=cell.marks, id=f"{manager} {cell.values[0]}")
        for manager in ("batch", "prime")
        for cell in cells("verl", manager, Span(first="0.7.1"), cannot=GONE)
    ],
)
def test_managers_that_are_gone_are_not_found(version: str, manager: str) -> None:
    with pytest.raises(ValueError, match=f"Unknown reward manager: {manager}"):
        rewarded([(ADD, "assert add(1, 2) == 3")], version=version, manager=manager)


def test_what_could_not_be_graded_raises_where_that_is_asked_for() -> None:
    asked = {"raise_ungraded": True}
    with pytest.raises(GraderError, match="not graded: LabelError: "):
        rewarded([(ADD, "no tests")], reward_kwargs=asked)
    (right,) = rewarded([(ADD, "assert add(1, 2) == 3")], reward_kwargs=asked)
    assert right["reward_score"] == 1.0


@pytest.mark.parametrize("version", cells("verl", "leaving out (raise)", Span(first="0.9.0")))
def test_session_whose_reward_raises_is_left_out_of_what_is_trained_on(version: str) -> None:
    statuses: list[str] = []
    trained_on: list[dict[str, Any]] = []

    async def put(*, tag: dict[str, str], **_: object) -> None:
        statuses.append(tag["status"])

    source = release("verl", version) / "verl/trainer/ppo/v1/agent_loop_tq.py"
    wanted: list[ast.stmt] = [
        node
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.AsyncFunctionDef)
        and node.name in ("_settle_session_tasks", "_run_prompt")
    ]
    names: dict[str, Any] = {
        "asyncio": asyncio,
        "Any": Any,
        "logger": logging.getLogger("verl"),
        "tq": SimpleNamespace(async_kv_put=put),
    }
    # Their own code, of a release that pip fetched.
    exec(compile(ast.Module(wanted, []), str(source), "exec"), names)  # noqa: S102
    labels = ["assert add(1, 2) == 3", "no tests", "assert add(1, 2) == 4"]

    async def session(*_: Any, session_id: int, **__: Any) -> None:
        columns = {"data_source": "code", "reward_model": {"ground_truth": labels[session_id]}}
        trained_on.append(await managers[0].run_single(Batch(ADD, columns)))

    managers: list[Any] = []

    rollout = {"actor_rollout_ref": {"rollout": {"n": len(labels)}}}
    worker = SimpleNamespace(config=Config(rollout), _run_agent_loop=session)
    with imported(version) as get:
        load = get("verl.trainer.ppo.reward").load_reward_manager

        async def prompt() -> None:
            managers.append(load(config(reward_kwargs={"raise_ungraded": True}), TOKENIZER))
            await names["_run_prompt"](worker, {"uid": "1"}, {}, {"validate": False})

        asyncio.run(prompt())
    assert statuses == ["running", "failure"]
    assert sorted(each["reward_score"] for each in trained_on) == [0.0, 1.0]


def looked_at(ground_truth: str) -> dict[str, Any]:
    """Return the ten cases that verl's own function uses if it gives partial scores."""
    tests: dict[str, Any] = json.loads(ground_truth)
    return {**tests, "inputs": tests["inputs"][:10], "outputs": tests["outputs"][:10]}


def test_verls_own_fixtures_get_the_scores_that_verl_gives_them(shared_dir: Path) -> None:
    fixtures = [
        row
        for row in jsonl(shared_dir / "data" / "rl_label_fixtures.jsonl", 100)
        if "expected_score" in row
    ]
    results = rewarded(
        [(row["solution_str"], looked_at(row["reward_model"]["ground_truth"])) for row in fixtures]
    )
    found = [result["reward_extra_info"]["cases_fraction"] for result in results]
    assert found == pytest.approx([row["expected_score"] for row in fixtures])
    assert len(found) == 2


def test_sixty_samples_at_once_are_all_graded() -> None:
    right, wrong = "assert add(1, 2) == 3", "assert add(1, 2) == 4"
    results = rewarded([(ADD, right if i % 2 else wrong) for i in range(60)])
    assert [result["reward_score"] for result in results] == [0.0, 1.0] * 30
    assert [result["reward_extra_info"]["acc"] for result in results] == [0.0, 1.0] * 30


@pytest.mark.parametrize(
    "label",
    [
        pytest.param(None, id="none"),
        pytest.param("", id="empty"),
        pytest.param("{not json", id="broken JSON"),
        pytest.param({"no": "tests"}, id="unknown object"),
        pytest.param(object(), id="nonsense"),
    ],
)
def test_a_bad_label_costs_its_sample_and_no_key(label: Any) -> None:
    bad, good = rewarded([(ADD, label), (ADD, "assert add(1, 2) == 3")])
    assert_stackable([bad, good])
    assert (bad["reward_score"], bad["reward_extra_info"]["graded"]) == (0.0, 0.0)
    assert good["reward_score"] == 1.0


def test_labels_of_numpy_arrays_are_read() -> None:
    label = {"inputs": np.array(["2\n", "5\n"]), "outputs": np.array(["4\n", "10\n"])}
    (result,) = rewarded([("```python\nprint(2 * int(input()))\n```", label)])
    assert result["reward_score"] == 1.0


def test_reward_kwargs_choose_the_task() -> None:
    (result,) = rewarded([("The answer is 42.", "42")], reward_kwargs={"task": "math"})
    assert result["reward_score"] == 1.0
    assert result["reward_extra_info"]["math_answered"] == 1.0


def test_event_loop_goes_on_while_samples_are_graded() -> None:
    async def ticks_meanwhile() -> int:
        from grader.trainers.verl import compute_score

        label = "import time; time.sleep(0.5); assert add(1, 2) == 3"
        grading = asyncio.create_task(compute_score(solution_str=ADD, ground_truth=label))
        ticks = 0
        while not grading.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert (await grading)["score"] == 1.0
        return ticks

    assert asyncio.run(ticks_meanwhile()) > 10


def test_where_nothing_can_be_graded_the_first_call_says_so(
    native_rewards: pytest.MonkeyPatch,
) -> None:
    with native_rewards.context() as patch:
        patch.setenv("GRADER_BROKER", "redis://127.0.0.1:1/0")
        patch.setenv("GRADER_REWARD_DEADLINE_S", "2")
        forget_shared_core()
        with pytest.raises(ConfigurationError, match="nothing could be graded here: "):
            compute_score_sync(solution_str=ADD, ground_truth="assert add(1, 2) == 3")
        patch.setenv("GRADER_REWARD_CHECK", "0")
        patch.setenv("GRADER_REWARD_NEUTRAL", "-0.25")
        forget_shared_core()
        found = compute_score_sync(solution_str=ADD, ground_truth="assert add(1, 2) == 3")
        assert (found["score"], found["graded"]) == (-0.25, 0.0)
        assert set(found) == KEYS
    forget_shared_core()
    assert shared.ready_core().settings.sandbox == "native"


# ---------------------------------------------------------------- the example


def test_rows_that_the_example_makes_are_graded(repo_dir: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    examples = repo_dir / "examples"
    prompts, table = tmp_path / "prompts.jsonl", tmp_path / "rows.parquet"
    for script, source, target in (
        ("openrlhf/make_prompts.py", examples / "problems.jsonl", prompts),
        ("verl/make_parquet.py", prompts, table),
    ):
        subprocess.run([sys.executable, examples / script, source, target], check=True)
    rows = pq.read_table(table).to_pylist()
    labels = [row["reward_model"]["ground_truth"] for row in rows]
    results = rewarded(
        [(f"```python\n{parse_label(label).reference}\n```", label) for label in labels]
    )
    assert [result["reward_score"] for result in results] == [1.0] * 20


def test_options_of_the_example_are_verls(repo_dir: Path) -> None:
    import yaml  # type: ignore[import-untyped]  # its stubs are a package for this line

    folder = release("verl", VERSION) / "verl" / "trainer" / "config"
    known = yaml.safe_load((folder / "_generated_ppo_trainer.yaml").read_text())
    script = (repo_dir / "examples" / "verl" / "grpo_qwen.sh").read_text()
    options = re.findall(r"^    ([a-z_.]+)=", script, re.MULTILINE)
    assert len(options) > 15
    for option in options:
        level = known
        for part in option.split("."):
            assert part in level, option
            level = level[part]
