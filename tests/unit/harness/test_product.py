"""The files of a compiler, on their way to the runs of its program: they are not trusted."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_images.harness.wire import orders


@pytest.fixture
def descriptor() -> Iterator[int]:
    made = os.memfd_create("product")
    yield made
    os.close(made)


def test_files_arrive_as_they_were_written(descriptor: int) -> None:
    files = {"solution.c": b"\xff\xfe", "program": b"\0\0ELF\0", "classes/a/B.class": b""}
    orders.write_product(descriptor, "solution.c", files)
    parcel = orders.open_product(descriptor)
    bundle = orders.read_bundle(parcel.descriptor)
    found = {path: orders.read_span(parcel.descriptor, bundle.files[path]) for path in bundle.files}
    os.close(parcel.descriptor)
    assert found == files
    assert (bundle.source_path, bundle.source, bundle.prelude) == ("solution.c", None, "")
    assert (parcel.bytes, parcel.files) == (2 * 4096, 1 + 1 + 3)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"0 \0-1 solution.c", id="no end of the head"),
        pytest.param(b"3 \0-1 solution.c\0\0abc", id="prelude"),
        pytest.param(b"0 \01 solution.c\0\0a", id="source"),
        pytest.param(b"0 \0-1 ../solution.c\0\0", id="source outside"),
        pytest.param(b"0 \0-1 solution.c\01 /etc/passwd\0\0a", id="absolute"),
        pytest.param(b"0 \0-1 solution.c\01 a/../../b\0\0a", id="above"),
        pytest.param(b"0 \0-1 solution.c\01 a//b\0\0a", id="empty name"),
        pytest.param(b"0 \0-1 solution.c\01 " + b"a" * 300 + b"\0\0a", id="long name"),
        pytest.param(b"0 \0-1 solution.c\01 a\01 a\0\0ab", id="twice"),
        pytest.param(b"0 \0-1 solution.c\01 a\01 a/b\0\0ab", id="file and folder"),
        pytest.param(b"0 \0-1 solution.c\02 a\0\0a", id="too short"),
        pytest.param(b"0 \0-1 solution.c\00 a\0\0a", id="too long"),
        pytest.param(b"0 \0-1 solution.c\0-1 a\0\0", id="negative"),
        pytest.param("0 \0-1 solution.c\0\u0661 a\0\0a".encode(), id="other digits"),
        pytest.param(b"0 \0-1 solution.c\01 a\xff\0\0a", id="no text"),
        pytest.param(b"0 \0-1 solution.c\0\0" + b"a" * 5_000_000, id="large"),
    ],
)
def test_product_that_no_compiler_leaves_is_refused(descriptor: int, content: bytes) -> None:
    os.write(descriptor, content)
    with pytest.raises(ValueError):  # noqa: PT011 - UnicodeDecodeError is one
        orders.open_product(descriptor)


@given(
    st.lists(st.tuples(st.sampled_from(["0", "1", "-1", "x", "9" * 20]), st.text(max_size=20))),
    st.binary(max_size=20),
)
def test_any_head_is_refused_or_stays_inside(entries: list[tuple[str, str]], body: bytes) -> None:
    head = "\0".join(["0 ", "-1 solution.c", *(f"{size} {path}" for size, path in entries)])
    made = os.memfd_create("product")
    try:
        os.write(made, head.encode("utf-8", "surrogatepass") + b"\0\0" + body)
        try:
            parcel = orders.open_product(made)
        except ValueError:
            return
        bundle = orders.read_bundle(parcel.descriptor)
        os.close(parcel.descriptor)
        for path in bundle.files:
            assert os.path.normpath(path) == path
            assert not path.startswith(("/", ".."))
    finally:
        os.close(made)
