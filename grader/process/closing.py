"""Objects that a `with` closes."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Something that holds on to what has to be given back."""

    @abstractmethod
    def close(self) -> None:
        """Give it back. Repeats harmlessly."""

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
