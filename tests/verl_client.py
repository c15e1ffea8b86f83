"""verl's own code, fetched by pip and never installed.

Its package needs Ray, torch and more at import. Its client of SandboxFusion only requests, so
that just its folder is imported, under a name of its own. Its reward managers and the loader of
reward functions run as they are, with stand-ins for what they import and do not use here.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.openrlhf_client import Anything
from tests.releases import release

VERSION = "0.9.1"
CLIENT = Path("verl/utils/reward_score/sandbox_fusion")


def load_client() -> ModuleType:
    """Return verl's module `sandbox_fusion`; skips where pip cannot get it."""
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


class _StandIns(MetaPathFinder, Loader):
    """Finds modules of the packages that reward managers import and do not use here."""

    roots = ("ray", "omegaconf", "torch", "transformers", "psutil")

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self.roots:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = Anything(spec.name)
        if spec.name == "ray":
            # `@ray.remote(num_cpus=1)` over a class that is not used here.
            vars(module)["remote"] = lambda **_: lambda cls: cls
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def imported() -> Iterator[Callable[[str], Any]]:
    """Make verl importable for a while; yields what imports a module of it."""
    root = release("verl", VERSION) / "verl"
    before = set(sys.modules)
    stand_ins = _StandIns()
    sys.meta_path.insert(0, stand_ins)
    for name in ("", ".utils", ".trainer", ".trainer.ppo", ".workers", ".experimental"):
        _open_package(root, name)
    _open_package(root, ".experimental.reward_loop")
    vars(sys.modules["verl"])["DataProto"] = Batch
    legacy = Anything("verl.workers.reward_manager")
    vars(legacy)["register"] = lambda _: lambda cls: cls
    sys.modules[legacy.__name__] = legacy
    try:
        yield importlib.import_module
    finally:
        sys.meta_path.remove(stand_ins)
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in (*_StandIns.roots, "verl"):
                del sys.modules[name]


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

    def __getitem__(self, index: slice | int) -> "Batch":
        return self


def decode(ids: Any, *, skip_special_tokens: bool) -> str:
    """Stand in for the tokenizer's: an id is a character."""
    assert skip_special_tokens
    return "".join(map(chr, ids))


TOKENIZER = SimpleNamespace(decode=decode)
