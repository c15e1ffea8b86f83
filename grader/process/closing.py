"""A base class of objects that `with` closes."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """An object that holds resources."""

    @abstractmethod
    def close(self) -> None:
        """Free the resources. Repeats harmlessly."""

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
