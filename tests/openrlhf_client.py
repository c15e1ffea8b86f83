"""OpenRLHF's own code, of several releases, run without Ray and without an inference engine.

The wheels are fetched by pip, unpacked outside of the repository and never installed. What
stands in for `ray`, `vllm` and `deepspeed` is here: actors are objects, remote calls go through
cloudpickle as Ray's do, and an engine says what a test scripted.
"""

import asyncio
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests import releases
from tests.releases import order
from tests.stand_ins import Anything, put_aside, stand_ins


def release(version: str) -> Path:
    """Return the folder of an unpacked release; skips if pip cannot get it."""
    return releases.release("openrlhf", version) / f"openrlhf-{version}.data" / "purelib"


# ---------------------------------------------------------------- what stands in


def remote(thing: Any = None, /, **options: Any) -> Any:
    """Stand in for `ray.remote`: what is called by `.remote()` has been through cloudpickle.

    Classes that a module in `sys.modules` holds travel by reference, as with Ray.
    """
    import cloudpickle

    if thing is None:
        assert options
        return remote
    if isinstance(thing, type):
        return SimpleNamespace(
            remote=lambda *args, **kwargs: _Actor(_travelled(thing)(*args, **kwargs))
        )
    blob = cloudpickle.dumps(thing)
    return SimpleNamespace(
        remote=lambda *args, **named: _POOL.submit(cloudpickle.loads(blob), *args, **named)
    )


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
        _ACTORS[id(self)] = self

    def __reduce__(self) -> Any:
        """Travel as a handle does: to the same actor."""
        return _actor, (id(self),)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._instance, name)

        def call(*args: Any) -> Any:
            result = method(*args)
            return asyncio.ensure_future(result) if asyncio.iscoroutine(result) else result

        return SimpleNamespace(remote=call)


_ACTORS: dict[int, _Actor] = {}
"""Those of the release that is importable, by what their handles hold."""


def _actor(number: int) -> _Actor:
    return _ACTORS[number]


_REPLACED = ("vllm", "deepspeed", "ray", "flash_attn", "wandb")
_NAMES: dict[str, dict[str, Any]] = {
    "ray": {
        "remote": remote,
        "get": lambda refs: get(refs),
        "put": lambda value: value,
        "wait": lambda refs, **_: (refs[:1], refs[1:]),
        "kill": lambda _: None,
    },
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
    root = release(version)
    package = root / "openrlhf"
    # Beside the package lies what tells its version.
    metadata = str(root.parent.parent)
    with put_aside("openrlhf"), stand_ins(*_REPLACED, names=_NAMES):
        for name in ("", ".utils", ".models", ".trainer", ".trainer.ray", ".trainer.ppo_utils"):
            # Their __init__ files import DeepSpeed and all that is behind it.
            module = ModuleType(f"openrlhf{name}")
            module.__path__ = [str(package.joinpath(*name.split(".")))]
            sys.modules[module.__name__] = module
        launcher = Anything("openrlhf.trainer.ray.launcher")
        sys.modules[launcher.__name__] = launcher
        sys.path.append(metadata)
        try:
            yield importlib.import_module
        finally:
            sys.path.remove(metadata)
            _ACTORS.clear()


# ---------------------------------------------------------------- experiences


def samples_generator(version: str, imported: Callable[[str], Any]) -> Any:
    """Return what makes experiences of a release from 0.9.1 on."""
    place = "experience_maker" if order(version) < order("0.9.9") else "samples_generator"
    generator = imported(f"openrlhf.trainer.ppo_utils.{place}").SamplesGenerator
    return generator.__new__(generator)


class _Models:
    """Stands in for the processes of a model: each forward pass gives a number a token."""

    def async_run_method_batch(self, *, sequences: Any, **_: Any) -> list[list[Any]]:
        import torch

        return [[torch.zeros(1, each.shape[1] - 1)] for each in sequences]


def make_experiences(imported: Callable[[str], Any], rows: Sequence[Any], rewarder: str) -> Any:
    """Have a release up to 0.8.2 reward rows, one a sample, and make experiences of them.

    Args:
        imported: What `client` yields.
        rows: With `prompt`, `response` and `label`.
        rewarder: The value of `--remote_rm_url`.
    """
    import torch

    module = imported("openrlhf.trainer.ppo_utils.experience_maker")
    options = {
        "advantage_estimator": "reinforce",
        "micro_rollout_batch_size": 4,
        "colocate_all_models": False,
        "colocate_actor_ref": False,
        "colocate_critic_reward": False,
        "ring_attn_size": 1,
        "ds_tensor_parallel_size": 1,
        "use_kl_loss": False,
        "kl_estimator": "k1",
        "remote_rm_url": [rewarder],
    }
    maker = module.RemoteExperienceMaker.__new__(module.RemoteExperienceMaker)
    args = SimpleNamespace(**options)
    texts = [row.prompt + row.response for row in rows]
    tokenizer = SimpleNamespace(batch_decode=lambda seqs, **_: [texts[int(s[0])] for s in seqs])
    try:
        actor = imported("openrlhf.utils.remote_rm_utils").RemoteRewardModel
    except AttributeError:  # 0.8.0 has none: the maker calls the function itself.
        actor = None
    known = {
        "strategy": SimpleNamespace(args=args),
        "actor_model_group": _Models(),
        "critic_model_group": None,
        "reward_model_group": None,
        "initial_model_group": _Models(),
        "kl_controller": None,
        "remote_rm_url": [rewarder],
        "remote_reward_model": actor and actor.remote(args, [rewarder]),
    }
    wanted = inspect.signature(module.RemoteExperienceMaker.__init__).parameters
    maker.__init__(**{name: value for name, value in known.items() if name in wanted})
    vars(maker).update(tokenizer=tokenizer)
    samples = [
        module.Samples(
            sequences=torch.tensor([[number, 0, 0]]),
            attention_mask=torch.ones(1, 3),
            action_mask=torch.ones(1, 2),
            response_length=torch.ones(1),
            total_length=torch.ones(1),
            prompts=[row.prompt],
            labels=[row.label],
        )
        for number, row in enumerate(rows)
    ]
    return maker.make_experience(samples)


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
