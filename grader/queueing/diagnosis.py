"""What is wrong with the queue, in one sentence, the worst first."""

from collections.abc import Iterable
from dataclasses import dataclass

from grader.model.wire import WIRE_VERSION
from grader.queueing.names import version_mismatch
from grader.queueing.status import QueueStatus, WorkerState
from grader.text.integers import counted

FULL = 0.9
"""The share of Redis's memory from which on it accepts no submissions; see `prelude.lua`."""

_LONG_WAIT_S = 30.0
_RECENT_S = 600.0
"""An internal error that is older says nothing about the present."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The state of the queue for people who have a minute."""

    text: str
    """One sentence: the worst that is wrong, or that all is well."""
    is_well: bool
    can_grade: bool
    """Whether any worker grades."""


def obstacle(queue: QueueStatus) -> str | None:
    """Return why no submission is graded; None if any worker grades."""
    states = {worker.state for worker in queue.workers}
    if WorkerState.SERVING in states:
        return None
    match sorted(states):
        case [] if queue.other_versions:
            return version_mismatch(queue.other_versions)
        case []:
            return "the queue has no worker"
        case found:
            return f"every worker is {' or '.join(found)}"


def diagnose(queue: QueueStatus) -> Diagnosis:
    """Find what is wrong."""
    nothing = obstacle(queue)
    if nothing is not None:
        waiting = f", and {_waiting(queue)}" if queue.queued else ""
        text = f"Nothing is graded: {nothing}{waiting}."
        return Diagnosis(text=text, is_well=False, can_grade=False)
    for text in _troubles(queue):
        return Diagnosis(text=text, is_well=False, can_grade=True)
    text = f"All is well: {queue.running} of {queue.slots} slots are busy, {_waiting(queue)}."
    return Diagnosis(text=text, is_well=True, can_grade=True)


def _troubles(queue: QueueStatus) -> Iterable[str]:
    """Return what is wrong although something is graded, the worst first."""
    for place in queue.away:
        yield f"Redis at {place} does not answer; others get its submissions in seconds."
    share = queue.memory.share
    if share >= FULL:
        yield f"Redis accepts no submissions: {share:.0%} of its memory is taken."
    served = {image for worker in queue.serving for image in worker.images.split(",")}
    if missing := [image for image in queue.waiting if image not in served]:
        yield f"No worker serves the image {missing[0]}, and submissions for it wait."
    sick = [worker for worker in queue.workers if worker.state == WorkerState.SICK]
    if sick:
        yield f"{len(sick)} of {len(queue.workers)} workers cannot grade, such as {sick[0].id}."
    if queue.silent:
        yield f"{counted(len(queue.silent), 'worker')} fell silent; others get the jobs in seconds."
    for error in queue.errors[:1]:
        ago_s = (queue.at - error.at).total_seconds()
        if ago_s < _RECENT_S:
            yield f"The last internal error was {rough_time(ago_s)} ago: {error.text}"
    for version, number in queue.other_versions.items():
        others = counted(number, "worker")
        yield f"{others} of wire version {version} cannot serve version {WIRE_VERSION}."
    if len(builds := {worker.build for worker in queue.workers}) > 1:
        yield f"The workers run {len(builds)} different builds, as during an upgrade."
    if queue.oldest_s > _LONG_WAIT_S:
        yield f"Submissions wait for long: {_waiting(queue)}; add workers or slots."


def _waiting(queue: QueueStatus) -> str:
    if not queue.queued:
        return "nothing waits"
    verb = "waits" if queue.queued == 1 else "wait"
    number = counted(queue.queued, "submission")
    return f"{number} {verb}, the oldest for {rough_time(queue.oldest_s)}"


def rough_time(seconds: float) -> str:
    """Return a time in seconds, or in minutes if it is two minutes or longer."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
