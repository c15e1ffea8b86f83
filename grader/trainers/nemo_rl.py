"""NeMo-RL's environment with one turn: it grades code, math and every other known label.

Written for NeMo-RL as published in 2026. In the script that starts the training:

    from grader.trainers.nemo_rl import register

    register("grader")

Then `env.grader: {}` in its configuration, and rows whose task is `grader`. See
docs/trainers/nemo.md.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from grader.rewards.arguments import response_of, text_of
from grader.rewards.sample import Rating, Sample
from grader.trainers.shared import dataset_of, label_of, rate_all

_NAME = f"{__name__}.CodeEnvironment"


class CodeGrading:
    """The environment without NeMo-RL's base class and without Ray."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        """Start nothing yet.

        Args:
            config: `env.grader` of the configuration. It is not used.
        """
        self.config = config

    def step(
        self, message_log_batch: Sequence[Sequence[Mapping[str, Any]]], metadata: Sequence[Any]
    ) -> Any:
        """Grade the response of each conversation, and end the conversations.

        Args:
            message_log_batch: The messages of each conversation.
            metadata: `extra_env_info` of the row of each conversation. It has the column `label`,
                or the columns of a known format.

        Returns:
            NeMo-RL's `EnvironmentReturn`. A response that could not be graded has the neutral
            reward, and `graded` is 0 in its metadata.

        Raises:
            ConfigurationError: This process cannot grade anything. Raised by the first call only.
        """
        import torch
        from nemo_rl.environments.interfaces import EnvironmentReturn

        ratings = rate_all(
            [_sample(*pair) for pair in zip(message_log_batch, metadata, strict=True)]
        )
        # The trainer may have set another default device.
        tensor = partial(torch.tensor, device="cpu")
        return EnvironmentReturn(
            observations=[{"role": "environment", "content": each.note} for each in ratings],
            metadata=[_noted(*pair) for pair in zip(metadata, ratings, strict=True)],
            next_stop_strings=[None] * len(ratings),
            rewards=tensor([each.reward for each in ratings], dtype=torch.float32),
            terminateds=tensor([True] * len(ratings), dtype=torch.bool),
            answers=[each.answer for each in ratings],
        )

    def global_post_process_and_metrics(self, batch: Any) -> tuple[Any, dict[str, float]]:
        """Return the batch, in which truncated responses have a reward of 0, and its metrics."""
        batch["rewards"] = batch["rewards"] * batch["is_end"]
        return batch, {
            "mean_reward": batch["rewards"].mean().item(),
            "fraction_of_samples_properly_ended": batch["is_end"].float().mean().item(),
        }


def register(name: str = "grader") -> None:
    """Register the environment with NeMo-RL, and say which Python runs its actor."""
    from nemo_rl.distributed.ray_actor_environment_registry import ACTOR_ENVIRONMENT_REGISTRY
    from nemo_rl.distributed.virtual_cluster import PY_EXECUTABLES
    from nemo_rl.environments.utils import register_env

    ACTOR_ENVIRONMENT_REGISTRY[_NAME] = PY_EXECUTABLES.SYSTEM
    register_env(name, _NAME)


def __getattr__(name: str) -> Any:
    """Make the actor `CodeEnvironment` when NeMo-RL looks it up. Needs NeMo-RL and Ray."""
    if name != "CodeEnvironment":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    import ray
    from nemo_rl.environments.interfaces import EnvironmentInterface

    class CodeEnvironment(CodeGrading, EnvironmentInterface):  # type: ignore[misc]
        """The environment as a subclass of NeMo-RL's interface."""

    return ray.remote(CodeEnvironment)


def _sample(messages: Sequence[Mapping[str, Any]], row: Any) -> Sample:
    prompts = [message for message in messages if message.get("role") != "assistant"]
    columns = row if isinstance(row, Mapping) else {}
    return Sample(
        query=response_of(list(messages)),
        prompt=text_of(prompts),
        label=label_of(columns),
        dataset=dataset_of(columns),
    )


def _noted(row: Any, rating: Rating) -> dict[str, Any]:
    return {**(row if isinstance(row, Mapping) else {}), "graded": float(rating.graded)}
