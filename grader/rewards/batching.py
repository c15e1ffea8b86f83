"""Joins calls from many threads into batches."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Generic, TypeVar

from grader.grading.futures import deliver

T = TypeVar("T")
R = TypeVar("R")


class MicroBatcher(Generic[T, R]):
    """Handles items that arrive within a few milliseconds as one batch. Safe for many threads.

    A thread handles one batch at a time. Items that arrive meanwhile form the next batch.
    """

    def __init__(
        self, handle: Callable[[list[T]], list[R]], *, most: int, gather_s: float, name: str
    ) -> None:
        """Start nothing yet.

        Args:
            handle: Returns a result for each item, in order. If it raises for several items, it is
                called for each one alone, so that one bad item does not fail the others.
            most: The most items of a batch.
            gather_s: Seconds that the first item of a batch waits for more.
            name: The name of the thread.
        """
        self._handle = handle
        self._most = most
        self._gather_s = gather_s
        self._name = name
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._items: queue.SimpleQueue[tuple[T, Future[R]] | None] = queue.SimpleQueue()
        self._open: set[Future[R]] = set()
        self._closed = False

    def submit(self, item: T) -> "Future[R]":
        """Add an item to a batch; returns at once.

        Raises:
            RuntimeError: The batcher is closed.
        """
        future: Future[R] = Future()
        with self._lock:
            if self._closed:
                message = "the batcher is closed"
                raise RuntimeError(message)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._open.add(future)
            self._items.put((item, future))
        future.add_done_callback(self._open.discard)
        return future

    def close(self) -> None:
        """Cancel all items without a result, and end the thread. Repeats harmlessly."""
        with self._lock:
            thread = self._thread
            if not self._closed:
                self._closed = True
                self._items.put(None)
        for future in list(self._open):
            future.cancel()
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while True:
            batch, is_last = self._gather()
            # A call that gives up cancels its future. It may do so even while the batch is handled,
            # so futures are never marked as running.
            waiting = [(item, future) for item, future in batch if not future.cancelled()]
            if waiting:
                self._run(waiting)
            if is_last:
                return

    def _gather(self) -> tuple[list[tuple[T, Future[R]]], bool]:
        """Wait for a first item, then some milliseconds for more. True: no more items will come."""
        batch: list[tuple[T, Future[R]]] = []
        until: float | None = None
        while len(batch) < self._most:
            try:
                wait_s = None if until is None else max(0.0, until - time.monotonic())
                entry = self._items.get(timeout=wait_s)
            except queue.Empty:
                break
            if entry is None:
                return batch, True
            batch.append(entry)
            until = until or time.monotonic() + self._gather_s
        return batch, False

    def _run(self, waiting: list[tuple[T, Future[R]]]) -> None:
        try:
            results = self._handle([item for item, _ in waiting])
            for (_, future), result in zip(waiting, results, strict=True):
                deliver(future, result)
        except BaseException as error:  # noqa: BLE001 - raised again by the future
            left = [(item, future) for item, future in waiting if not future.done()]
            if len(waiting) > 1:
                for pair in left:
                    self._run([pair])
            else:
                for _, future in left:
                    with contextlib.suppress(InvalidStateError):
                        future.set_exception(error)
