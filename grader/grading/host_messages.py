"""The messages between a grader and its host processes: frames over a socket pair.

The grader first sends `settings`. Then come any number of these:

| from the grader | says |
|---|---|
| `suite` | a suite, once for all its submissions, while the `SuiteCache` of each side keeps it |
| `grade` | a submission to grade; `id` names it from now on |
| `stop` | stop the grading of that `id`; its report still comes |

| from the host process | says |
|---|---|
| `ready` | it takes submissions |
| `unusable` | it cannot grade here, and why; it ends |
| `report` | the report of an `id`, and how many slots are open |
| `log` | a log record of the host process |

The host process ends when the grader hangs up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from grader.config.settings import Settings
from grader.model import Submission, TestSuite
from grader.model.adapters import adapter
from grader.model.overrides import GradingRules
from grader.suites.cache import EncodedSuite


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A submission as it travels."""

    suite: EncodedSuite
    header: Mapping[str, Any]
    """The header of the frame, without its `id`."""
    texts: tuple[bytes, ...]
    """Completion and prompt, which may have lone surrogates."""


def make_order(submission: Submission, suite: EncodedSuite, settings: Settings) -> Order:
    """Return a submission as it travels, with the settings under its own rules."""
    header = {
        "op": "grade",
        "suite": suite.digest,
        "name": submission.id,
        "rules": _encoded(_in_force(settings.under(submission.rules))),
    }
    texts = (submission.completion, submission.prompt)
    encoded = tuple(text.encode("utf-8", "surrogatepass") for text in texts)
    return Order(suite=suite, header=header, texts=encoded)


def read_order(
    header: Mapping[str, Any], texts: Sequence[bytes], suite: TestSuite, settings: Settings
) -> tuple[Submission, Settings]:
    """Return the submission of a `grade` frame, and the settings in force for it.

    Args:
        header: The header of the frame.
        texts: Its blobs.
        suite: The suite that it names.
        settings: The host process's own.
    """
    rules = adapter(GradingRules).validate_python(header["rules"])
    completion, prompt = (text.decode("utf-8", "surrogatepass") for text in texts)
    submission = Submission(id=header["name"], completion=completion, prompt=prompt, suite=suite)
    return submission, _under(settings, rules)


def differ_in_rules_alone(settings: Settings, others: Settings) -> bool:
    """Tell whether two settings differ only in what an order says."""
    return settings is others or replace(settings, **_named(_in_force(others))) == others


def encode_settings(settings: Settings) -> bytes:
    """Return settings as `decode_settings` reads them."""
    return adapter(Settings).dump_json(settings)


def decode_settings(message: bytes) -> Settings:
    """Return the settings of a message."""
    return adapter(Settings).validate_json(message)


@lru_cache(maxsize=64)
def _encoded(rules: GradingRules) -> Mapping[str, Any]:
    encoded: dict[str, Any] = adapter(GradingRules).dump_python(rules)
    return encoded


def _in_force(settings: Settings) -> GradingRules:
    """Return the rules that a submission may override, as the settings have them."""
    return GradingRules(
        policy=settings.policy,
        extraction=settings.extraction,
        stop_early=settings.stop_early,
        require_integrity=settings.require_integrity,
    )


def _under(settings: Settings, rules: GradingRules) -> Settings:
    """Return the settings with all rules in place, also those that are None."""
    if _in_force(settings) == rules:
        return settings
    return replace(settings, **_named(rules))


def _named(rules: GradingRules) -> dict[str, Any]:
    return {name: getattr(rules, name) for name in GradingRules.__slots__}
