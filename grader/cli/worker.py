"""`grader worker`."""

import os
import sys

from grader.cli.options import BrokerOption, SandboxOption, SetOption, SlotsOption, choose
from grader.config.loading import value_of, variable
from grader.config.settings import SETTINGS, Settings
from grader.model.errors import ConfigurationError


def worker(
    *,
    broker: BrokerOption = None,
    sandbox: SandboxOption = None,
    slots: SlotsOption = None,
    set_: SetOption = None,
) -> None:
    """Grade the jobs of a queue, until SIGTERM or Ctrl-C.

    A stopping worker finishes its running jobs, gives back all others, and leaves no process or
    container behind. docs/deploy.md covers compose, Kubernetes, systemd and Slurm.

    **Examples**

        grader worker --broker redis://queue.example:6379/0
        grader worker --slots 8 --sandbox native
    """
    import importlib.util

    settings = choose(set_, broker=broker, sandbox=sandbox, slots=slots).settings
    if settings.broker is None:
        message = "no broker is set; expected --broker or GRADER_BROKER=redis://..."
        raise ConfigurationError(message)
    if importlib.util.find_spec("worker") is None:
        message = (
            "the worker is not part of the installed package: run it from a checkout of the "
            "repository (pip install -e .) or from the worker image, see docs/deploy.md"
        )
        raise ConfigurationError(message)
    if importlib.util.find_spec("celery") is None:
        message = "the worker needs the extra: pip install 'grader-rl[worker]'"
        raise ConfigurationError(message)
    os.execve(
        sys.executable, [sys.executable, "-m", "worker"], {**os.environ, **_environment(settings)}
    )


def _environment(settings: Settings) -> dict[str, str]:
    """Return the settings as environment variables, from which the worker reads them."""
    defaults = Settings()
    values = {key: value_of(settings, key) for key in SETTINGS}
    return {
        variable(key): str(value)
        for key, value in values.items()
        if value is not None and value != value_of(defaults, key)
    }
