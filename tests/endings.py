"""A process that ends in a given way while calls of the reward function are under way in it.

    python -m tests.endings CALLER ENDING KIND COUNT

It prints "open" once its calls are made, waits for a line on standard input, and ends. What
grades is set by the environment.
"""

import asyncio
import functools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import NoReturn

NAME = "unfinished"
"""What the process of a submission calls itself, so that it can be counted from outside."""

COMPLETION = """```python
number = {number}
import ctypes, time
PR_SET_NAME = 15
ctypes.CDLL(None).prctl(PR_SET_NAME, b"{name}", 0, 0, 0)
while True:
    {act}
```"""
KINDS = {"sleeping": "time.sleep(1)", "spinning": "pass"}
LABEL = '{"assert_case": ["assert f() == 1"]}'

End = Callable[[], bool]
"""Ends the process, or lets it be ended: True if the main program goes on meanwhile."""
Caller = Callable[[list[str], End], None]


def main() -> None:
    """Call, wait for the word, and end."""
    caller, ending, kind, count = sys.argv[1:]
    completions = [
        # Each is another submission, so that a queue does not grade them as one.
        COMPLETION.format(number=(os.getpid(), number), name=NAME, act=KINDS[kind])
        for number in range(int(count))
    ]
    if caller.startswith("openrlhf"):
        import torch  # noqa: F401 - a trainer has it, and its import takes seconds
    CALLERS[caller](completions, ENDINGS[ending])


def told() -> None:
    """Say that the calls are made, and wait for the word to end."""
    print("open", flush=True)  # noqa: T201 - read by the test
    sys.stdin.readline()


# ---------------------------------------------------------------- who calls


def from_library(completions: list[str], end: End) -> None:
    """Leave futures of an open grader behind."""
    from grader.config.loading import load_settings
    from grader.model import Submission
    from grader.opening import open_grader
    from grader.suites import parse_label

    grader = open_grader(load_settings().settings)
    suite = parse_label(LABEL)
    for text in completions:
        grader.submit(Submission(id="x", completion=text, suite=suite), timeout_s=300)
    told()
    if end():
        time.sleep(60)


def from_threads(reward: Callable[[str], object]) -> Caller:
    """Call in threads that the interpreter joins."""

    def call(completions: list[str], end: End) -> None:
        # Half of the calls wait for a thread.
        pool = ThreadPoolExecutor(len(completions) // 2)
        for text in completions:
            pool.submit(reward, text)
        told()
        if end():
            time.sleep(60)

    return call


def from_main_thread(completions: list[str], end: End) -> None:
    """Call as TRL does: all at once, in the main thread, which a signal then interrupts."""
    from grader.trainers.trl import code_reward

    def order() -> None:
        told()
        end()

    threading.Thread(target=order, daemon=True).start()
    count = len(completions)
    code_reward(prompts=[""] * count, completions=completions, label=[LABEL] * count)


def from_loop(reward: Callable[[str], Awaitable[object]]) -> Caller:
    """Call in the tasks of `asyncio.run`."""

    def call(completions: list[str], end: End) -> None:
        async def run() -> None:
            calls = [asyncio.ensure_future(reward(text)) for text in completions]
            await asyncio.get_running_loop().run_in_executor(ThreadPoolExecutor(1), told)
            if end():
                await asyncio.gather(*calls)

        asyncio.run(run())

    return call


def from_pool(completions: list[str], end: End) -> None:
    """Call as AReaL does: in the processes of a pool."""
    from grader.trainers.areal import code_reward

    async def run() -> None:
        pool = ProcessPoolExecutor(2, multiprocessing.get_context("fork"))
        calls = [
            asyncio.get_running_loop().run_in_executor(
                pool, functools.partial(code_reward, "p", text, label=LABEL)
            )
            for text in completions
        ]
        await asyncio.get_running_loop().run_in_executor(ThreadPoolExecutor(1), told)
        if end():
            await asyncio.gather(*calls)

    asyncio.run(run())


def openrlhf(text: str) -> object:
    from grader.rewards.openrlhf import rewards_for

    return rewards_for([text], [""], [LABEL])


def rllm(text: str) -> object:
    from grader.rewards.sample import Sample
    from grader.trainers.shared import rate_one

    return rate_one(Sample(query=text, label=LABEL))


async def verl(text: str) -> object:
    from grader.trainers.verl import compute_score

    return await compute_score(solution_str=text, ground_truth=LABEL)


async def openrlhf_agent(text: str) -> object:
    from grader.rewards.agents.openrlhf import session

    episode = session("code")
    await episode.reset({"observation": "", "label": LABEL})
    return await episode.step({"observation_text": "", "action_text": text, "label": LABEL})


CALLERS: dict[str, Caller] = {
    "library": from_library,
    "openrlhf": from_threads(openrlhf),
    "openrlhf-loop": from_loop(lambda text: asyncio.to_thread(openrlhf, text)),
    "openrlhf-agent": from_loop(openrlhf_agent),
    "verl": from_loop(verl),
    "trl": from_main_thread,
    "rllm": from_threads(rllm),
    "areal": from_pool,
}

# ---------------------------------------------------------------- ways to end


def fail() -> NoReturn:
    message = "the trainer crashed"
    raise RuntimeError(message)


def fail_in_thread() -> bool:
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    return False


def by(*numbers: signal.Signals) -> End:
    def send() -> None:
        for number in numbers:
            os.kill(os.getpid(), number)
            time.sleep(0.3)

    def end() -> bool:
        threading.Thread(target=send, daemon=True).start()
        return True

    return end


def fork_that_ends() -> bool:
    """Have a forked process end in order, then tell, and go on until told to end."""
    child = os.fork()
    if child == 0:
        sys.exit()
    os.waitpid(child, 0)
    told()
    return False


def fork_that_stays() -> NoReturn:
    """Be killed, but leave a forked process behind."""
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    print(child, flush=True)  # noqa: T201 - read by the test
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


ENDINGS: dict[str, End] = {
    "return": lambda: False,
    "exit": lambda: sys.exit(),
    "exception": fail,
    "exception-in-thread": fail_in_thread,
    "SIGTERM": by(signal.SIGTERM),
    "SIGHUP": by(signal.SIGHUP),
    "SIGINT": by(signal.SIGINT),
    "SIGINT-twice": by(signal.SIGINT, signal.SIGINT),
    "SIGKILL": by(signal.SIGKILL),
    "os._exit": lambda: os._exit(3),
    "fork-ends": fork_that_ends,
    "fork-stays": fork_that_stays,
}

if __name__ == "__main__":
    # A shell starts what it has in the background with this signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
