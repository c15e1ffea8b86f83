"""`python -m worker.health`: a health check of the worker on this host."""

import platform
import sys

from grader.config.loading import load_settings
from grader.model.errors import GraderError
from grader.queueing.status import read_status


def main() -> int:
    """Return 0 if a worker with this host's name holds a lease; else print why, and return 1."""
    try:
        status = read_status(load_settings().settings)
    except GraderError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    if any(worker.host == platform.node() for worker in status.workers):
        return 0
    print(f"no worker on {platform.node()} holds a lease", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
