"""Rates conversations by text-classification models and a few heuristics.

One model rates the quality of a conversation. Optional others rate whether its last response is
harmful and whether it is coherent.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from grader.config.rewards import ConversationSettings
from grader.config.settings import Settings
from grader.model.errors import ConfigurationError, GraderError
from grader.rewards.batching import MicroBatcher
from grader.rewards.calls import current_call
from grader.rewards.heuristics import refusal, relevance, repetition, words_of
from grader.rewards.response import response_of
from grader.rewards.sample import Rating, Sample, ungraded

_log = logging.getLogger(__name__)

_MAX_CHARS = 100_000
"""Only the last characters of a conversation are tokenised; far more than a model reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model, and the label whose probability is used."""

    model: str
    """A folder, or a name on the hub."""
    label: str | None
    """None: the only label, or the second of two."""
    label_variable: str
    """The environment variable that sets the label."""
    takes_last: bool = False
    """Whether to use the last of more than two labels if none is named."""


class Classifier:
    """A loaded text-classification model. For one thread at a time."""

    def __init__(self, choice: ModelChoice, settings: ConversationSettings) -> None:
        """Load model and tokenizer.

        Raises:
            ConfigurationError: It cannot be loaded, or has no label of that name.
        """
        try:
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError as error:
            message = (
                f"rating conversations needs torch and transformers: {error};"
                " install them with pip install 'grader-rl[conversation]'"
            )
            raise ConfigurationError(message) from error
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(choice.model)
            # The trainer may have set another default device for models and tensors.
            with torch.device(settings.device):
                model: Any = AutoModelForSequenceClassification.from_pretrained(choice.model)
            self._model = model.to(settings.device).eval()
        except (OSError, ValueError, RuntimeError) as error:
            message = f"the model {choice.model} cannot be loaded: {' '.join(str(error).split())}"
            raise ConfigurationError(message) from error
        # A long text loses its beginning, not the answer at its end.
        self._tokenizer.truncation_side = "left"
        self._device = torch.device(settings.device)
        self._max_tokens = min(settings.max_tokens, _most_tokens(self._tokenizer, model.config))
        self._index = _index_of_label(dict(model.config.id2label), choice)
        # Such a model, or one with a single label, gives each label an independent probability.
        is_multiple = model.config.problem_type == "multi_label_classification"
        self._is_sigmoid = is_multiple or len(model.config.id2label) == 1

    def probabilities(self, texts: list[str]) -> list[float]:
        """Return the probability of the label for each text, in [0, 1]."""
        import torch

        with torch.device(self._device), torch.inference_mode():
            encoded = self._tokenizer(
                [text[-_MAX_CHARS:] for text in texts],
                padding=True,
                truncation=True,
                max_length=self._max_tokens,
                return_tensors="pt",
            ).to(self._device)
            logits: torch.Tensor = self._model(**encoded).logits.float()
        each_label = torch.sigmoid(logits) if self._is_sigmoid else torch.softmax(logits, dim=-1)
        return [float(each) for each in each_label[:, self._index].nan_to_num(0.0).clamp(0, 1)]


def _most_tokens(tokenizer: Any, config: Any) -> int:
    """Return the most tokens that a model can read."""
    # Models like RoBERTa cannot use the first two of their positions.
    positions = (getattr(config, "max_position_embeddings", None) or sys.maxsize) - 2
    return max(1, min(positions, int(tokenizer.model_max_length)))


def _index_of_label(labels: dict[int, str], choice: ModelChoice) -> int:
    names = {str(name).casefold(): int(index) for index, name in labels.items()}
    found = ", ".join(map(str, labels.values()))
    expected = f"set {choice.label_variable} to one of: {found}"
    if choice.label is not None:
        if choice.label.casefold() not in names:
            message = f"the model {choice.model} has no label {choice.label!r}; {expected}"
            raise ConfigurationError(message)
        return names[choice.label.casefold()]
    if len(labels) > 2 and not choice.takes_last:
        message = f"the model {choice.model} has {len(labels)} labels; {expected}"
        raise ConfigurationError(message)
    return names.get("label_1", len(labels) - 1)


class ConversationRater:
    """See `Rater`. Loads the models once, in the first call that needs them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._batchers: dict[str, MicroBatcher[str, float]] = {}
        self._failure: ConfigurationError | None = None
        self._closed = False

    def rate(self, samples: list[Sample], labels: list[object], deadline: float) -> list[Rating]:  # noqa: ARG002
        """See `Rater.rate`; labels are not used."""
        try:
            batchers = self._open()
            waiting = [
                {name: batcher.submit(_READ_BY[name](sample)) for name, batcher in batchers.items()}
                for sample in samples
            ]
            for futures in waiting:
                for future in futures.values():
                    current_call().hold(future)
        except (GraderError, RuntimeError) as error:
            return [
                ungraded(f"{type(error).__name__}: {error}", self._settings.reward) for _ in samples
            ]
        return [
            self._end(sample, futures, deadline)
            for sample, futures in zip(samples, waiting, strict=True)
        ]

    def check(self) -> None:
        """Load the models.

        Raises:
            ConfigurationError: No model is set, or one cannot be loaded.
        """
        self._open()

    def close(self) -> None:
        """Free the models. Repeats harmlessly."""
        with self._lock:
            self._closed = True
            batchers, self._batchers = self._batchers, {}
        for batcher in batchers.values():
            batcher.close()

    def _open(self) -> dict[str, MicroBatcher[str, float]]:
        with self._lock:
            if self._closed:
                message = "the conversation grader is closed"
                raise ConfigurationError(message)
            if self._failure is not None:
                raise self._failure
            if not self._batchers:
                settings = self._settings.conversation
                try:
                    classifiers = {
                        name: Classifier(choice, settings)
                        for name, choice in _choices(settings).items()
                    }
                except ConfigurationError as error:
                    self._failure = error
                    raise
                self._batchers = {
                    name: MicroBatcher(
                        classifier.probabilities,
                        most=settings.batch,
                        gather_s=settings.gather_ms / 1000,
                        name=f"grader-{name}",
                    )
                    for name, classifier in classifiers.items()
                }
            return self._batchers

    def _end(self, sample: Sample, futures: "dict[str, Future[float]]", deadline: float) -> Rating:
        try:
            found = {
                name: future.result(max(0.0, deadline - time.monotonic()))
                for name, future in futures.items()
            }
            return self._rating(sample, found)
        except TimeoutError:
            for future in futures.values():
                future.cancel()
            return ungraded("a model did not answer by the deadline", self._settings.reward)
        except CancelledError:
            return ungraded("the call was cancelled", self._settings.reward)
        except Exception as error:  # noqa: BLE001 - logged; fails only this call
            _log.exception("rating a conversation failed because of a bug in the grader")
            return ungraded(f"{type(error).__name__}: {error}", self._settings.reward)

    def _rating(self, sample: Sample, found: dict[str, float]) -> Rating:
        settings = self._settings.conversation
        response = response_of(sample.query, sample.prompt).text
        quality = found["quality"]
        signs = {
            "repetition": repetition(response),
            "refusal": refusal(response),
            "relevance": relevance(sample.prompt, response),
            "harm": found.get("harm", 0.0),
            "coherence": found.get("coherence", 0.0),
        }
        is_short = len(words_of(response)) < settings.short_words
        shares = settings.relevance_weight, settings.coherence_share
        score = (1 - sum(shares)) * quality
        score += shares[0] * signs["relevance"] + shares[1] * signs["coherence"]
        score -= settings.short_penalty * is_short
        score -= settings.repetition_penalty * signs["repetition"]
        score -= settings.refusal_penalty * signs["refusal"]
        score -= settings.harm_penalty * signs["harm"]
        score = max(0.0, min(1.0, score))
        others = "".join(f", {name} {signs[name]:.3f}" for name in found if name != "quality")
        return Rating(
            reward=score,
            score=score,
            graded=True,
            logs={
                "raw_reward": score,
                "conversation_reward": score,
                "conversation_quality": quality,
                **signs,
            },
            answer=response,
            note=f"quality {quality:.3f}{others}{', short' if is_short else ''}",
        )


def _choices(settings: ConversationSettings) -> dict[str, ModelChoice]:
    """Return the models in the settings by what they rate.

    Raises:
        ConfigurationError: No model for quality is set.
    """
    if settings.model is None:
        message = (
            "no model is set; expected GRADER_CONVERSATION_MODEL with a folder or a name on the hub"
        )
        raise ConfigurationError(message)
    choices = {
        "quality": ModelChoice(
            model=settings.model,
            label=settings.good_label,
            label_variable="GRADER_CONVERSATION_GOOD_LABEL",
            takes_last=True,
        )
    }
    for name, model, label in (
        ("harm", settings.harm_model, settings.harm_label),
        ("coherence", settings.coherence_model, settings.coherence_label),
    ):
        if model is not None:
            variable = f"GRADER_CONVERSATION_{name.upper()}_LABEL"
            choices[name] = ModelChoice(model=model, label=label, label_variable=variable)
    return choices


def _conversation(sample: Sample) -> str:
    """Return the prompt with the answer, as the trainer has them."""
    if not sample.prompt or sample.query.startswith(sample.prompt):
        return sample.query
    return sample.prompt + sample.query


def _response(sample: Sample) -> str:
    """Return the response without thoughts and special tokens."""
    return response_of(sample.query, sample.prompt).text


_READ_BY: Mapping[str, Callable[[Sample], str]] = MappingProxyType(
    {"quality": _conversation, "harm": _response, "coherence": _response}
)
"""Each model's input."""
