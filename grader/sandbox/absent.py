"""The sandbox of a grader that runs nothing: it only reports on completions without code."""

from collections.abc import Mapping

from grader.model.errors import ConfigurationError
from grader.sandbox.contract import Slot


class AbsentSandbox:
    """See `grader.sandbox.contract.Sandbox`."""

    name = "none"

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:
        """Refuse."""
        message = f"a grader that runs nothing was asked for a slot ({image}, {memory_bytes} bytes)"
        raise ConfigurationError(message)

    def layers(self) -> Mapping[str, str]:
        """Return that there are none."""
        return {}

    def environment(self, image: str) -> str:
        """Return the variant; see `Sandbox.environment`."""
        return image

    def close(self) -> None:
        """Do nothing."""
