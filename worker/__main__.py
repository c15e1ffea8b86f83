"""`python -m worker`: start a worker with the options that it needs.

Further arguments are passed to `celery worker`.
"""

import signal
import sys
from typing import Any

from grader.model.errors import GraderError


def main() -> int:
    """Run a worker until it is told to stop; return its exit code, 0 only if it ends in order."""
    signal.signal(signal.SIGTERM, _end)  # Celery has a handler of its own only once it has started.
    try:
        from worker.app import app, lifecycle
    except GraderError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 2
    # Gossip and mingle only talk to other workers, and they hang when Redis comes back.
    options = ("--loglevel=INFO", "--without-gossip", "--without-mingle")
    try:
        app.worker_main(["--quiet", "worker", *options, *sys.argv[1:]])
    finally:
        lifecycle.close()
    return lifecycle.exit_code


def _end(*_: Any) -> None:
    raise SystemExit


if __name__ == "__main__":
    sys.exit(main())
