"""AReaL's reward function: `RLVRWorkflow(reward_fn="grader.trainers.areal.code_reward")`.

AReaL calls it in a pool of processes. After 15 s it gives a call up and repeats it, up to four
times. If the last try times out, AReaL uses a reward of 0. See docs/trainers/others.md.
"""

import os
import threading
import time
from typing import Any

from grader.model.errors import GraderError
from grader.process.exits import close_at_exit
from grader.rewards.arguments import text_of
from grader.rewards.core import shared_core
from grader.rewards.sample import Sample
from grader.trainers.shared import dataset_of, label_of, rate_one

DEADLINE_S = 9.0
"""Even with the extra seconds that the core waits for a late report, a call ends before 15 s."""

_LOOK_S = 0.1


class _Trainer:
    """Notices in the processes of the pool that the trainer, which forked them, has ended.

    When the trainer exits, Python waits until the pool has run all queued calls. If the trainer is
    killed, the pool's processes stay behind. In both cases the last process that could write to a
    pipe is gone, which they notice.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._watched_by = self._pid
        self._hang_up, self._held = os.pipe()
        os.register_at_fork(after_in_child=self.close)
        close_at_exit(self)

    def close(self) -> None:
        """Close this process's end of the pipe. Repeats harmlessly."""
        held, self._held = self._held, -1
        if held != -1:
            os.close(held)

    def watch(self) -> None:
        """In a process of the pool: stop grading once the trainer ends."""
        if self._watched_by != os.getpid():
            self._watched_by = os.getpid()
            threading.Thread(target=self._wait, name="grader-trainer", daemon=True).start()

    def _wait(self) -> None:
        os.read(self._hang_up, 1)
        shared_core().close()
        while os.getppid() == self._pid:  # The trainer waits for the pool, and ends it.
            time.sleep(_LOOK_S)
        os._exit(1)


_trainer = _Trainer()


def code_reward(
    prompt: object,
    completions: str,
    prompt_ids: object = None,  # noqa: ARG001 - only texts are graded
    completion_ids: object = None,  # noqa: ARG001
    *,
    deadline_s: float = DEADLINE_S,
    **data: Any,
) -> float:
    """Return the reward of one completion. Can be pickled.

    Args:
        prompt: The text that the model was given.
        completions: Its response.
        prompt_ids: The tokens of the prompt.
        completion_ids: The tokens of the response.
        deadline_s: Seconds after which grading is given up.
        data: The other columns of the row.

    Raises:
        GraderError: It could not be graded. AReaL tries again and then rejects the trajectory.
            If a number was returned instead, AReaL would train on it.
    """
    _trainer.watch()
    sample = Sample(
        query=text_of(completions),
        prompt=text_of(prompt),
        label=label_of(data),
        dataset=dataset_of(data),
    )
    rating = rate_one(sample, deadline_s=deadline_s)
    if not rating.graded:
        raise GraderError(rating.note)
    return rating.reward
