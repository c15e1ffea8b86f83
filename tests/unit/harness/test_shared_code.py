"""The runs of a batch execute the code that the first of them has compiled, or code like it."""

import contextlib
import fcntl
import io
import marshal
import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_images.harness.lock_in.confinement import ConfinedRun
from sandbox_images.harness.runners import shared_code
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.wire.orders import Bundle

CONSTANTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@contextlib.contextmanager
def memory_file(content: bytes = b"") -> Iterator[int]:
    descriptor = os.memfd_create("code", os.MFD_ALLOW_SEALING)
    os.write(descriptor, content)
    yield descriptor
    os.close(descriptor)


def printed(source: str, memory: int, prelude: str = "") -> tuple[str, str]:
    """Execute a program as a run does; return what the program and its compilation printed."""
    null = os.open(os.devnull, os.O_WRONLY)
    run = ConfinedRun(
        program="stdin",
        bundle=Bundle(source_path="solution.py", source=source, prelude=prelude, files={}),
        payload=null,
        report=null,
        channel=None,
        code=os.dup(memory),
        command=(),
        executable="",
        environment={},
    )
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        code = shared_code.compile_source(run, Reporter(null))
        assert code is not None
        exec(code.program, {"__name__": "__main__"})  # noqa: S102
    os.close(null)
    return out.getvalue(), err.getvalue()


@given(st.lists(st.integers() | st.text(max_size=3), min_size=1, max_size=12), CONSTANTS)
def test_runs_print_the_same(elements: list[int | str], constant: object) -> None:
    shown = ", ".join(map(ascii, elements))
    literal = ascii(constant).replace("nan", "(1e999 - 1e999)").replace("inf", "1e999")
    source = f"for x in {{{shown}}}: print(ascii(x))\nprint(ascii({literal}))"
    with memory_file() as memory:
        assert printed(source, memory) == printed(source, memory)


@pytest.mark.parametrize(
    ("source", "prelude", "is_left"),
    [
        pytest.param("print(1 in {1, 2})\ndef f(): return [0]", "x = 1", True, id="plain"),
        pytest.param("for x in {8, 0, 16}: print(x)", "", False, id="order of a set"),
        pytest.param("def f():\n    for x in {8, 0, 16}: pass", "", False, id="inner set"),
        pytest.param("print(1)", "def", False, id="prelude that does not compile"),
    ],
)
def test_code_is_left_if_it_is_the_same_for_the_next_run(
    source: str, prelude: str, is_left: bool
) -> None:
    with memory_file() as memory:
        expected = printed(source, memory, prelude)
        assert (os.fstat(memory).st_size > 0) == is_left
        assert printed(source, memory, prelude) == expected
        if is_left:
            with pytest.raises(PermissionError):
                os.pwrite(memory, b"x", 0)


def test_file_that_is_not_sealed_is_not_read() -> None:
    other = marshal.dumps((compile("print(2)", "", "exec"), compile("", "", "exec")))
    with memory_file(other) as memory:
        assert printed("print(1)", memory) == ("1\n", "")
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        assert printed("print(1)", memory) == ("1\n", "")
