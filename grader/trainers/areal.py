"""AReaL's reward function: `RLVRWorkflow(reward_fn="grader.trainers.areal.code_reward")`.

AReaL calls it in the processes of a pool, gives up a call after 15 s and calls again, up to
four times, and takes a last timeout for a reward of 0. docs/trainers/others.md has more.
"""

import os
import threading
import time
from typing import Any

from grader.model.errors import GraderError
from grader.process.exits import close_at_exit
from grader.rewards.core import shared_core
from grader.rewards.sample import Sample
from grader.trainers.shared import label_of, rate_one, text_of

DEADLINE_S = 9.0
"""With the seconds that the core allows a late report, this ends before AReaL's own limit."""

_LOOK_S = 0.1


class _Trainer:
    """The process that AReaL forks its pool from, as the pool's processes see it.

    Python waits at the trainer's end until the pool has run all that is queued, and leaves the
    pool's processes behind where the trainer is killed. Either hangs up a pipe.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._watched_by = self._pid
        self._hang_up, self._held = os.pipe()
        os.register_at_fork(after_in_child=self.close)
        close_at_exit(self)

    def close(self) -> None:
        """Hang up, or, in a forked process, keep the pipe open no longer. Repeats harmlessly."""
        held, self._held = self._held, -1
        if held != -1:
            os.close(held)

    def watch(self) -> None:
        """In a process of the pool: once the trainer ends, give up what is being graded."""
        if self._watched_by != os.getpid():
            self._watched_by = os.getpid()
            threading.Thread(target=self._wait, name="grader-trainer", daemon=True).start()

    def _wait(self) -> None:
        os.read(self._hang_up, 1)
        shared_core().close()
        while os.getppid() == self._pid:  # It waits for the pool, which ends by itself then.
            time.sleep(_LOOK_S)
        os._exit(1)


_trainer = _Trainer()


def code_reward(
    prompt: object,
    completions: str,
    prompt_ids: object = None,  # noqa: ARG001 - texts are what is graded
    completion_ids: object = None,  # noqa: ARG001
    *,
    deadline_s: float = DEADLINE_S,
    **data: Any,
) -> float:
    """Return the reward of one completion. Can be pickled.

    Args:
        prompt: The text that the model was given.
        completions: What it answered.
        prompt_ids: Of the prompt.
        completion_ids: Of the answer.
        deadline_s: Seconds by which it is graded or given up.
        data: The other columns of the row.

    Raises:
        GraderError: It could not be graded. AReaL tries again and then rejects the trajectory,
            which is right: a number would be trained on.
    """
    _trainer.watch()
    sample = Sample(query=completions, prompt=text_of(prompt), label=label_of(data))
    rating = rate_one(sample, deadline_s=deadline_s)
    if not rating.graded:
        raise GraderError(rating.note)
    return rating.reward
