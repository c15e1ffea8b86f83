"""Rates conversations by a text-classification model, with a few heuristics taken off."""

import logging
import sys
import threading
import time
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any

from grader.errors import ConfigurationError, GraderError
from grader.reward_settings import ConversationSettings
from grader.rewards.batching import MicroBatcher
from grader.rewards.heuristics import refusal, relevance, repetition, words_of
from grader.rewards.response import response_of
from grader.rewards.sample import Rating, Sample, ungraded
from grader.settings import Settings

if TYPE_CHECKING:
    pass

_log = logging.getLogger(__name__)

_MAX_CHARS = 100_000
"""The end of a conversation that is tokenised; far more than a model reads."""


class Classifier:
    """A text-classification model, loaded. Used by one thread at a time."""

    def __init__(self, settings: ConversationSettings) -> None:
        """Load model and tokenizer.

        Raises:
            ConfigurationError: There is none, it does not load, or has no label of that name.
        """
        if settings.model is None:
            message = "no model is set; expected GRADER_CONVERSATION_MODEL, a folder or hub name"
            raise ConfigurationError(message)
        try:
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError as error:
            message = f"rating conversations needs torch and transformers: {error}"
            raise ConfigurationError(message) from error
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(settings.model)
            model: Any = AutoModelForSequenceClassification.from_pretrained(settings.model)
            self._model = model.to(settings.device).eval()
        except (OSError, ValueError, RuntimeError) as error:
            message = f"the model {settings.model} does not load: {' '.join(str(error).split())}"
            raise ConfigurationError(message) from error
        # What is cut off a long conversation is its beginning, not the answer.
        self._tokenizer.truncation_side = "left"
        self._device = torch.device(settings.device)
        self._max_tokens = min(settings.max_tokens, _most_tokens(self._tokenizer, model.config))
        self._good = _index_of_good(dict(model.config.id2label), settings.good_label)

    def qualities(self, texts: list[str]) -> list[float]:
        """Return how good each conversation is, in [0, 1]."""
        import torch

        encoded = self._tokenizer(
            [text[-_MAX_CHARS:] for text in texts],
            padding=True,
            truncation=True,
            max_length=self._max_tokens,
            return_tensors="pt",
        ).to(self._device)
        with torch.inference_mode():
            logits: torch.Tensor = self._model(**encoded).logits.float()
        if logits.shape[-1] == 1:
            probabilities = torch.sigmoid(logits[:, 0])
        else:
            probabilities = torch.softmax(logits, dim=-1)[:, self._good]
        return [float(each) for each in probabilities.nan_to_num(0.0).clamp(0, 1)]


def _most_tokens(tokenizer: Any, config: Any) -> int:
    """Return how many tokens a model can read."""
    # Models of RoBERTa's kind cannot use the first two of their positions.
    positions = (getattr(config, "max_position_embeddings", None) or sys.maxsize) - 2
    return max(1, min(positions, int(tokenizer.model_max_length)))


def _index_of_good(labels: dict[int, str], wanted: str | None) -> int:
    names = {str(name).casefold(): int(index) for index, name in labels.items()}
    if wanted is not None:
        if wanted.casefold() not in names:
            message = f"the model has no label {wanted!r}; it has: {', '.join(labels.values())}"
            raise ConfigurationError(message)
        return names[wanted.casefold()]
    return names.get("label_1", len(labels) - 1)


class ConversationRater:
    """See `Rater`. Loads the model once, in the first call that needs it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._batcher: MicroBatcher[str, float] | None = None
        self._failure: ConfigurationError | None = None

    def rate(self, samples: list[Sample], labels: list[object], deadline: float) -> list[Rating]:  # noqa: ARG002
        """See `Rater.rate`; labels are not looked at."""
        try:
            batcher = self._open()
            waiting = [batcher.submit(_conversation(sample)) for sample in samples]
        except (GraderError, RuntimeError) as error:
            return [self._ungraded(f"{type(error).__name__}: {error}") for _ in samples]
        return [
            self._end(sample, future, deadline)
            for sample, future in zip(samples, waiting, strict=True)
        ]

    def check(self) -> None:
        """Load the model.

        Raises:
            ConfigurationError: There is none, or it does not load.
        """
        self._open()

    def close(self) -> None:
        """Forget the model. Repeats harmlessly."""
        with self._lock:
            batcher, self._batcher = self._batcher, None
        if batcher is not None:
            batcher.close()

    def _open(self) -> MicroBatcher[str, float]:
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._batcher is None:
                settings = self._settings.conversation
                try:
                    classifier = Classifier(settings)
                except ConfigurationError as error:
                    self._failure = error
                    raise
                self._batcher = MicroBatcher(
                    classifier.qualities,
                    most=settings.batch,
                    gather_s=settings.gather_ms / 1000,
                    name="grader-conversation",
                )
            return self._batcher

    def _end(self, sample: Sample, future: "Future[float]", deadline: float) -> Rating:
        try:
            return self._rating(sample, future.result(max(0.0, deadline - time.monotonic())))
        except (TimeoutError, CancelledError):
            future.cancel()
            return self._ungraded("the model did not answer by the deadline")
        except Exception as error:  # noqa: BLE001 - logged; it must cost no more than this
            _log.exception("a conversation met a fault in the grader")
            return self._ungraded(f"{type(error).__name__}: {error}")

    def _rating(self, sample: Sample, quality: float) -> Rating:
        settings = self._settings.conversation
        response = response_of(sample.query, sample.prompt).text
        signs = {
            "repetition": repetition(response),
            "refusal": refusal(response),
            "relevance": relevance(sample.prompt, response),
        }
        is_short = len(words_of(response)) < settings.short_words
        weight = settings.relevance_weight
        score = (1 - weight) * quality + weight * signs["relevance"]
        score -= settings.short_penalty * is_short
        score -= settings.repetition_penalty * signs["repetition"]
        score -= settings.refusal_penalty * signs["refusal"]
        score = max(0.0, min(1.0, score))
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
            note=f"quality {quality:.3f}{', short' if is_short else ''}",
        )

    def _ungraded(self, reason: str) -> Rating:
        return ungraded(reason, self._settings.reward.neutral)


def _conversation(sample: Sample) -> str:
    """Return what the model reads: the prompt with the answer, as the trainer has it."""
    if not sample.prompt or sample.query.startswith(sample.prompt):
        return sample.query
    return sample.prompt + sample.query
