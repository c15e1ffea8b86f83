"""`python -m worker.health`: a health check of the worker on this host."""

import platform
import sys

from grader.config.loading import load_settings
from grader.model.errors import GraderError
from grader.queueing.status import WorkerState, read_status


def main() -> int:
    """Return 0 if a worker with this host's name takes jobs; else print why, and return 1."""
    try:
        status = read_status(load_settings().settings)
    except GraderError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    states = [worker.state for worker in status.workers if worker.host == platform.node()]
    if WorkerState.SERVING in states:
        return 0
    found = f"the worker on {platform.node()} is {states[0]}" if states else "no worker is known"
    print(f"{found}; expected one that is serving", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
