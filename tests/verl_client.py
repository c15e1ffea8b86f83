"""verl's own code, fetched by pip and never installed.

Its package needs Ray, torch and more at import. Its client of SandboxFusion only requests, so
that just its folder is imported, under a name of its own. Its reward managers and the loader of
reward functions run as they are, with stand-ins for what they import and do not use here; the
older managers, up to 0.7.0, make tensors, with the real torch.
"""

import asyncio
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.releases import release
from tests.stand_ins import Anything, put_aside, stand_ins

VERSION = "0.9.1"
CLIENT = Path("verl/utils/reward_score/sandbox_fusion")


def load_client() -> ModuleType:
    """Return verl's module `sandbox_fusion`; skips if pip cannot get it."""
    name = "verl_sandbox_fusion"
    if name in sys.modules:
        return sys.modules[name]
    folder = release("verl", VERSION) / CLIENT
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- reward managers


_RAY: dict[str, Any] = {
    "remote": lambda **_: (
        lambda cls: SimpleNamespace(
            options=lambda **_: SimpleNamespace(remote=lambda *args: _Worker(cls(*args)))
        )
    ),
    "get_runtime_context": lambda: SimpleNamespace(get_node_id=lambda: "node"),
    "util": SimpleNamespace(
        scheduling_strategies=SimpleNamespace(NodeAffinitySchedulingStrategy=lambda **_: None)
    ),
}


class _Worker:
    """Stands in for an actor: its methods run in a thread."""

    def __init__(self, instance: object) -> None:
        self._instance = instance

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._instance, name)
        return SimpleNamespace(remote=lambda **named: asyncio.to_thread(method, **named))


@contextmanager
def imported(
    version: str = VERSION, *, real: tuple[str, ...] = ()
) -> Iterator[Callable[[str], Any]]:
    """Make verl importable for a while; yields what imports a module of it.

    Args:
        version: Its release.
        real: Packages that are there and have no stand-ins.
    """
    root = release("verl", version) / "verl"
    replaced = [name for name in ("ray", "omegaconf", "psutil") if name not in real]
    # Packages that are in use hold on to what they imported of these.
    extended = tuple(name for name in ("torch", "transformers") if name not in real)
    with (
        put_aside("verl", "custom_module"),
        stand_ins(*replaced, names={"ray": _RAY}, extended=extended),
    ):
        for name in ("", ".utils", ".trainer", ".trainer.ppo", ".workers", ".experimental"):
            _open_package(root, name)
        _open_package(root, ".experimental.reward_loop")
        vars(sys.modules["verl"])["DataProto"] = Batch
        for name, members in (
            ("verl.protocol", {"DataProto": Batch}),
            ("verl.utils.transferqueue_utils", {"tqbridge": lambda **_: lambda function: function}),
        ):
            sys.modules[name] = Anything(name)
            vars(sys.modules[name]).update(members)
        if "torch" not in real:
            # Of the older managers the newer ones take no more than this.
            older = Anything("verl.workers.reward_manager")
            vars(older)["register"] = lambda _: lambda cls: cls
            sys.modules[older.__name__] = older
        yield importlib.import_module


def _open_package(root: Path, name: str) -> None:
    """Let modules of a package be found without running its `__init__`."""
    module = ModuleType(f"verl{name}")
    module.__path__ = [str(root.joinpath(*name.split(".")))]
    sys.modules[module.__name__] = module


class Config(dict[str, Any]):
    """As OmegaConf's: keys are attributes too."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__({k: Config(v) if isinstance(v, Mapping) else v for k, v in values.items()})

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error


class Batch:
    """As verl's DataProto of one row, of which reward managers see no more than this."""

    def __init__(self, response: str, columns: Mapping[str, Any]) -> None:
        import numpy as np

        ids = np.array([ord(char) for char in response], dtype=np.int64)
        self.batch = {"responses": ids, "attention_mask": np.ones(len(ids) + 3, dtype=np.int64)}
        self.non_tensor_batch = {"extra_info": {}, **columns}

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: slice | int) -> "Batch":
        return self


class OlderBatch:
    """As verl's DataProto of many rows, of which the older managers see no more than this."""

    def __init__(self, responses: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> None:
        import numpy as np
        import torch

        length = max(map(len, responses))
        ids = torch.zeros(len(responses), length, dtype=torch.long)
        mask = torch.zeros(len(responses), 1 + length, dtype=torch.long)
        mask[:, 0] = 1
        for row, response in enumerate(responses):
            ids[row, : len(response)] = torch.tensor([ord(char) for char in response])
            mask[row, 1 : 1 + len(response)] = 1
        prompts = torch.full((len(responses), 1), ord("?"))
        self.batch = {"prompts": prompts, "responses": ids, "attention_mask": mask}
        self.non_tensor_batch = {}
        for name, values in {"extra_info": [{} for _ in responses], **columns}.items():
            column = self.non_tensor_batch[name] = np.empty(len(responses), dtype=object)
            column[:] = values
        self.meta_info: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.batch["responses"])

    def __getitem__(self, index: int) -> Any:
        if index >= len(self):
            raise IndexError(index)
        return SimpleNamespace(
            batch={name: values[index] for name, values in self.batch.items()},
            non_tensor_batch={name: each[index] for name, each in self.non_tensor_batch.items()},
        )


def decode(ids: Any, *, skip_special_tokens: bool) -> str:
    """Stand in for the tokenizer's: an id is a character."""
    assert skip_special_tokens
    return "".join(map(chr, ids)).rstrip("\0")


def decode_many(rows: Any, *, skip_special_tokens: bool) -> list[str]:
    """Stand in for the tokenizer's, of rows that are padded."""
    return [decode(ids, skip_special_tokens=skip_special_tokens) for ids in rows]


END = "</s>"
TOKENIZER = SimpleNamespace(decode=decode, batch_decode=decode_many, eos_token=END)
