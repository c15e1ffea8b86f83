"""The sandbox of a grader that must not run anything, only report on what holds no code."""

from collections.abc import Mapping

from grader.model.errors import ConfigurationError
from grader.sandbox.contract import Slot


class AbsentSandbox:
    """See `grader.sandbox.contract.Sandbox`."""

    name = "none"

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:
        """Refuse."""
        message = f"a slot of {image} with {memory_bytes} bytes is asked for where nothing may run"
        raise ConfigurationError(message)

    def layers(self) -> Mapping[str, str]:
        """Return that there are none."""
        return {}

    def close(self) -> None:
        """Do nothing."""
