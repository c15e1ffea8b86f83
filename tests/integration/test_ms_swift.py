"""ms-swift's own table of reward functions, and its own code that calls them."""

import ast
import importlib
import importlib.util
import math
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.releases import Span, cells, installed, order, release
from tests.stand_ins import Anything
from tests.tools import load_file

torch = installed("torch")

pytestmark = [pytest.mark.timeout(60), pytest.mark.usefixtures("native_rewards")]

DOUBLE = "```python\ndef double(n):\n    return 2 * n\n```"
RIGHT, WRONG = "assert double(2) == 4", "assert double(2) == 5"


@pytest.fixture
def swift() -> Iterator[Any]:
    """Makes the module with a release's table importable, and what calls the functions in it."""
    before = set(sys.modules)

    def load(version: str) -> tuple[Any, Any]:
        root = release("ms_swift", version) / "swift"
        is_new = order(version) >= order("4.0.0")
        folder = "rewards" if is_new else "plugin"
        # Their __init__ files import all models and what these need.
        for name in ("", f".{folder}"):
            module = ModuleType(f"swift{name}")
            module.__path__ = [str(root.joinpath(*name.split(".")))]
            sys.modules[module.__name__] = module
        for name in ("swift.infer_engine", "swift.llm"):
            sys.modules[name] = Anything(name)
        orm = importlib.import_module(f"swift.{folder}.orm")
        vars(sys.modules[f"swift.{folder}"])["orm"] = orm
        return orm, caller(root, version)

    yield load
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "swift":
            del sys.modules[name]


def caller(root: Path, version: str) -> Any:
    """Return ms-swift's own function that makes a tensor of rewards."""
    if order(version) >= order("4.0.0"):
        rows = root / "dataset/preprocessor/core.py"
    else:
        rows = root / "llm/dataset/preprocessor/core.py"
    batched = taken(rows, "rows_to_batched")
    dataset = Anything("swift.dataset")
    vars(dataset)["RowPreprocessor"] = SimpleNamespace(rows_to_batched=batched)
    sys.modules["swift.dataset"] = dataset
    newest = root / "rl_core/grpo_algorithm.py"
    if newest.is_file():
        score = taken(newest, "_is_async_reward", "compute_rewards_per_func")
        return lambda samples, functions: score(
            [_Sample(sample) for sample in samples], functions, None, torch.device("cpu")
        )
    older = ("rlhf_trainers/grpo_trainer.py", "trainers/rlhf_trainer/grpo_trainer.py")
    path = next(root / each for each in older if (root / each).is_file())
    score = taken(path, "_compute_rewards_per_func", RowPreprocessor=dataset.RowPreprocessor)
    return lambda samples, functions: score(_Trainer(functions), samples)


class _Sample:
    """What ms-swift's function uses of its samples."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.messages = row["messages"]
        self._row = row

    def to_reward_row(self) -> dict[str, Any]:
        return self._row


class _Trainer:
    """What ms-swift's method uses of its trainer."""

    enable_server_multi_turn = False
    dynamic_num_samples = False
    use_gym_env = False
    state = None
    _async_reward_func_indices: tuple[int, ...] = ()

    def __init__(self, functions: list[Any]) -> None:
        self.accelerator = SimpleNamespace(device=torch.device("cpu"))
        self.reward_funcs = functions
        self.reward_model_plugins = [None] * len(functions)
        self.reward_func_names = [type(function).__name__ for function in functions]

    def _disable_sp_context(self, _: object) -> Any:
        return nullcontext()


def taken(path: Path, *names: str, **known: Any) -> Any:
    """Return the last of these functions of a file, which needs no more than the others."""
    body: list[ast.stmt] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            node.decorator_list, node.returns = [], None
            for argument in node.args.args:
                argument.annotation = None
            body.append(node)
    assert {node.name for node in body if isinstance(node, ast.FunctionDef)} == set(names)
    scope: dict[str, Any] = {
        "torch": torch,
        "nn": torch.nn,
        "Any": Any,
        "Dict": dict,
        "gather": lambda tensor: tensor,
        "logger": SimpleNamespace(warning=lambda _: None),
        "patch_profiling_context": lambda *_: nullcontext(),
        "profiling_context": lambda *_: nullcontext(),
        **known,
    }
    # Their own code, of a release that pip fetched.
    exec(compile(ast.Module(body, []), str(path), "exec"), scope)  # noqa: S102
    return scope[names[-1]]


@pytest.mark.parametrize(
    "version", cells("ms-swift", "reward_funcs", Span(differing=("3.12.6", "4.6.0")))
)
def test_plugin_makes_a_reward_function_that_ms_swift_calls(
    version: str, swift: Any, repo_dir: Path
) -> None:
    orm, score = swift(version)
    load_file(repo_dir / "examples/ms_swift/plugin.py")  # as `--external_plugins` does
    options = {"args": None} if order(version) >= order("4.0.0") else {}
    function = orm.orms["grader_code"](**options)
    assert isinstance(function, orm.ORM)
    rows: list[tuple[str, dict[str, Any]]] = [
        (DOUBLE, {"label": RIGHT}),
        (DOUBLE, {"label": WRONG}),
        (DOUBLE, {"label": "no tests"}),
        (DOUBLE, {"test_list": [RIGHT], "task_id": 3}),
        ("So \\boxed{42}.", {"label": '{"math": "42"}'}),
    ]
    samples: list[dict[str, Any]] = [
        {
            "messages": [
                {"role": "user", "content": "Double it."},
                {"role": "assistant", "content": answer},
            ],
            "prompt_id": "1",
            "request_id": str(number),
            **row,
        }
        for number, (answer, row) in enumerate(rows)
    ]
    rewards = score(samples, [function])[:, 0].tolist()
    assert rewards[:2] == [1.0, 0.0]
    assert math.isnan(rewards[2])
    assert rewards[3:] == [1.0, 1.0]
