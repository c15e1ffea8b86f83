"""OpenRLHF's own code, of several releases, run without Ray and without an inference engine.

The wheels are fetched by pip, unpacked outside of the repository and never installed. What
stands in for `ray`, `vllm` and `deepspeed` is here: actors are objects, remote calls go through
cloudpickle as Ray's do, and an engine says what a test scripted.
"""

import asyncio
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests import releases


def release(version: str) -> Path:
    """Return the folder of an unpacked release; skips where pip cannot get it."""
    return releases.release("openrlhf", version) / f"openrlhf-{version}.data" / "purelib"


# ---------------------------------------------------------------- what stands in


class Anything(ModuleType):
    """A module that has every name; each is a class or function of no consequence."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda *_, **__: None})


class _Stubs:
    """Finds `vllm.x.y` and the like as modules that have everything."""

    roots = ("vllm", "deepspeed", "ray", "flash_attn", "wandb")

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name.partition(".")[0] not in self.roots:
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = Anything(spec.name)
        for key, value in _NAMES.get(spec.name, {}).items():
            setattr(module, key, value)
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


def remote(thing: Any) -> Any:
    """Stand in for `ray.remote`: what is called by `.remote()` has been through cloudpickle.

    Classes that a module in `sys.modules` holds travel by reference, as with Ray.
    """
    import cloudpickle

    if isinstance(thing, type):
        return SimpleNamespace(
            remote=lambda *args, **kwargs: _Actor(_travelled(thing)(*args, **kwargs))
        )
    blob = cloudpickle.dumps(thing)
    return SimpleNamespace(remote=lambda *args: _POOL.submit(cloudpickle.loads(blob), *args))


def _travelled(cls: type) -> type:
    import cloudpickle

    if cls.__module__ in sys.modules:
        return cls
    travelled: type = cloudpickle.loads(cloudpickle.dumps(cls))
    return travelled


class _Actor:
    """An object whose methods are called by `.remote()`, each in a task of its own."""

    def __init__(self, instance: object) -> None:
        self._instance = instance

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._instance, name)

        def call(*args: Any) -> Any:
            result = method(*args)
            return asyncio.ensure_future(result) if asyncio.iscoroutine(result) else result

        return SimpleNamespace(remote=call)


_NAMES: dict[str, dict[str, Any]] = {
    "ray": {"remote": remote, "get": lambda refs: get(refs), "kill": lambda _: None},
    "vllm": {"__version__": "0.99.0"},
    "vllm.inputs": {"TokensPrompt": lambda prompt_token_ids: prompt_token_ids},
    "vllm.utils": {"random_uuid": lambda: "request"},
}
"""What the stubs have to do more than be there."""

_POOL = ThreadPoolExecutor(4, thread_name_prefix="ray-stub")


def get(refs: Any) -> Any:
    """Stand in for `ray.get`."""
    if isinstance(refs, list):
        return [get(ref) for ref in refs]
    return refs.result() if hasattr(refs, "result") else refs


@contextmanager
def client(version: str) -> Iterator[Callable[[str], Any]]:
    """Make one release importable for a while; yields what imports a module of it."""
    package = release(version) / "openrlhf"
    before = {name for name in sys.modules if name.partition(".")[0] in (*_Stubs.roots, "openrlhf")}
    assert not before, f"already imported: {before}"
    stubs = _Stubs()
    sys.meta_path.insert(0, stubs)
    for name in ("", ".utils", ".models", ".trainer", ".trainer.ray", ".trainer.ppo_utils"):
        # Their __init__ files import DeepSpeed and all that is behind it.
        module = ModuleType(f"openrlhf{name}")
        module.__path__ = [str(package.joinpath(*name.split(".")))]
        sys.modules[module.__name__] = module
    launcher = Anything("openrlhf.trainer.ray.launcher")
    sys.modules[launcher.__name__] = launcher
    try:
        yield importlib.import_module
    finally:
        sys.meta_path.remove(stubs)
        for name in [*sys.modules]:
            if name.partition(".")[0] in (*_Stubs.roots, "openrlhf"):
                del sys.modules[name]


# ---------------------------------------------------------------- a model that says what it should


def make_tokenizer() -> Any:
    """Return a real tokenizer with the special tokens of three chat templates, trained here."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>", "<pad>", "<|im_start|>", "<|im_end|>", "<|eot_id|>"]
    special += ["<|start_header_id|>", "<|end_header_id|>", "<|begin_of_text|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text = Path(__file__).read_text()
    tokenizer.train_from_iterator([text, "def add(a, b):\n    return a + b\n" * 5], trainer)
    names = dict(zip(("bos_token", "eos_token", "pad_token"), special, strict=False))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, additional_special_tokens=special[3:], **names
    )


def make_llama_tokenizer(*texts: str) -> Any:
    """Return a tokenizer that decodes as Llama's and CodeLlama's do: "<s>Q" becomes "<s> Q".

    Args:
        texts: Have all the characters that it will know.
    """
    from tokenizers import Tokenizer, decoders, models, normalizers, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<unk>", "<s>", "</s>"]
    tokenizer = Tokenizer(models.BPE(unk_token=special[0]))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    names = dict(zip(("unk_token", "bos_token", "eos_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


class SamplingParams:
    """What the engine is asked for; copied by the executors."""

    def __init__(self, max_tokens: int = 512) -> None:
        self.max_tokens = max_tokens
        self.logprobs = 1


class ScriptedEngine:
    """Says one text after the other; remembers what it was asked and what it sampled."""

    def __init__(self, tokenizer: Any, texts: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        self._texts = list(texts)
        self.asked: list[list[int]] = []
        self.sampled: list[list[int]] = []

    async def generate(self, prompt_token_ids: list[int], *_: Any, **__: Any) -> Any:
        await asyncio.sleep(0)
        return self._say(prompt_token_ids)

    def _say(self, prompt_token_ids: list[int]) -> Any:
        text = self._texts[len(self.sampled)]
        # As a sampler may: not the tokens that the tokenizer itself would choose.
        ids = [
            token
            for piece in _odd_pieces(text)
            for token in self._tokenizer(piece, add_special_tokens=False)["input_ids"]
        ]
        self.asked.append(list(prompt_token_ids))
        self.sampled.append(ids)
        logprobs = [{token: SimpleNamespace(logprob=-0.5)} for token in ids]
        output = SimpleNamespace(token_ids=ids, text=text, finish_reason="stop", logprobs=logprobs)
        return SimpleNamespace(outputs=[output])


class StreamingEngine(ScriptedEngine):
    """The same, as the engine that OpenRLHF 0.8.7 to 0.9.0 talks to itself."""

    async def generate(self, prompt_token_ids: list[int], *_: Any, **__: Any) -> Any:
        yield self._say(prompt_token_ids)


def _odd_pieces(text: str) -> Iterator[str]:
    """Cut plain text in two in the middle of a word, special tokens whole at the end."""
    end = next((e for e in ("</s>", "<|im_end|>", "<|eot_id|>") if text.endswith(e)), "")
    body = text.removesuffix(end)
    middle = len(body) // 2
    yield from (piece for piece in (body[:middle], body[middle:], end) if piece)
