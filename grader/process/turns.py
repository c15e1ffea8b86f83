"""A queue in which callers take turns."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


class TurnQueue(Generic[_Item]):
    """What waits for callers, who take turns. Not safe for threads."""

    def __init__(self) -> None:
        """Make an empty queue."""
        self._queues: dict[Hashable, deque[_Item]] = {}
        """By caller, the next one first. None of the queues is empty."""
        self._count = 0

    def __len__(self) -> int:
        """Return how many items wait."""
        return self._count

    def __iter__(self) -> Iterator[_Item]:
        """Yield what waits, each caller's items together."""
        for queue in self._queues.values():
            yield from queue

    def put(self, item: _Item, whose: Hashable) -> None:
        """Add the last item of a caller."""
        self._queues.setdefault(whose, deque()).append(item)
        self._count += 1

    def put_back(self, item: _Item, whose: Hashable) -> None:
        """Add an item that is the next of all."""
        queue = self._queues.pop(whose, deque[_Item]())
        queue.appendleft(item)
        self._queues = {whose: queue, **self._queues}
        self._count += 1

    def take(self) -> _Item:
        """Remove and return the next item. There must be one."""
        return self._remove(next(iter(self._queues)))

    def take_if(self, may: Callable[[_Item], bool]) -> _Item | None:
        """Remove and return the first item of the next caller whose first item may be taken."""
        for whose, queue in self._queues.items():
            if may(queue[0]):
                return self._remove(whose)
        return None

    def clear(self) -> None:
        """Remove all items."""
        self._queues.clear()
        self._count = 0

    def _remove(self, whose: Hashable) -> _Item:
        queue = self._queues.pop(whose)
        item = queue.popleft()
        self._count -= 1
        if queue:
            self._queues[whose] = queue
        return item
