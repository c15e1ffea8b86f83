"""Connections to engines that do not answer."""

import gc
import socket
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from grader.model.errors import SandboxUnavailableError
from grader.sandbox.docker.engine import Engine

pytest.importorskip("docker")


def nothing(_path: str) -> None:
    """Leave out the socket."""


def deaf(path: str) -> None:
    """Leave a socket that nothing listens on."""
    with closing(socket.socket(socket.AF_UNIX)) as left:
        left.bind(path)


def no_socket(path: str) -> None:
    """Put a file in its place."""
    Path(path).touch()


@pytest.mark.parametrize("place", [nothing, deaf, no_socket])
def test_engine_that_does_not_answer_is_told_and_leaves_no_socket_open(
    place: Callable[[str], None], tmp_path: Path
) -> None:
    path = str(tmp_path / "engine.sock")
    place(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(SandboxUnavailableError, match="no Docker engine answers"):
            Engine.connect(f"unix://{path}")
        gc.collect()
    assert caught == []
