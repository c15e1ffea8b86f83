"""What sessions cost: an episode step by step, against replaying it, and a tree of branches.

python -m benchmarks.sessions
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

from grader.config.settings import SandboxChoice, Settings
from grader.sessions.local import Sessions

STEPS = 30
BRANCHES = 64
CELL = "total = sum(range(200_000)); seen.append(total)"
"""What a step computes, for some 5 ms."""


def _timed(do: Callable[[], object]) -> float:
    before = time.monotonic()
    do()
    return 1000 * (time.monotonic() - before)


def _thirds(took_ms: list[float]) -> str:
    third = len(took_ms) // 3
    parts = (took_ms[:third], took_ms[third : 2 * third], took_ms[2 * third :])
    return "  ".join(f"{statistics.median(part):7.1f}" for part in parts)


def _replay(sessions: Sessions, steps: int) -> None:
    """Take a step as episodes without a session of their own do: all earlier ones run again."""
    with sessions.open() as session:
        for cell in ["seen = []", *[CELL] * (steps + 1)]:
            session.run(cell)


def main() -> None:
    """Measure, and print a table in milliseconds."""
    settings = Settings(sandbox=SandboxChoice(sys.argv[1] if len(sys.argv) > 1 else "native"))
    with Sessions(settings) as sessions:
        sessions.open().close()  # the first slot takes longest
        opening = _timed(lambda: sessions.open().close())
        with sessions.open() as session:
            session.run("seen = []")
            forked = [_timed(lambda: session.run(CELL)) for _ in range(STEPS)]
            branches = [session.fork() for _ in range(BRANCHES)]
            tree = [_timed(partial(branch.run, CELL)) for branch in branches]
        replayed = [_timed(partial(_replay, sessions, step)) for step in range(STEPS)]
    print(f"open and close in a warm slot: {opening:.1f} ms")
    print(f"medians of steps 1-10, 11-20, 21-{STEPS}, and the sum, in ms")
    for name, took_ms in (("session", forked), ("replayed", replayed)):
        print(f"{name:10}{_thirds(took_ms)}  {sum(took_ms):8.0f}")
    median = statistics.median(tree)
    print(f"{BRANCHES} branches: {sum(tree):.0f} ms, median {median:.1f} ms")


if __name__ == "__main__":
    main()
