import base64
import json
import pickle
import tracemalloc
import zlib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model.errors import LabelError
from grader.suites import pickled

PLAIN_TYPES = (type(None), bool, int, float, str, bytes, list, tuple, dict)

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text() | st.integers(), inner)
        ),
    )


def pack(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def only_plain(value: Any) -> bool:
    if type(value) not in PLAIN_TYPES:
        return False
    if isinstance(value, dict):
        return all(only_plain(item) for pair in value.items() for item in pair)
    return not isinstance(value, list | tuple) or all(only_plain(item) for item in value)


class Exploit:
    """Would run a program when unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (eval, ("__import__('os').system('touch /tmp/owned')",))


class Ordinary:
    """Would import this module when unpickled."""


def unshared(value: Any) -> Any:
    """Return an equal value in which each container is in one place only."""
    if isinstance(value, dict):
        return {key: unshared(item) for key, item in value.items()}
    return type(value)(map(unshared, value)) if isinstance(value, list | tuple) else value


@given(nested(scalars), st.integers(0, 5))
def test_plain_data_comes_back_from_every_protocol(value: Any, protocol: int) -> None:
    decoded = pickled.decode_pickle(pickle.dumps(unshared(value), protocol))
    assert decoded == value
    assert only_plain(decoded)


@given(nested(st.binary()), st.integers(3, 5))
def test_bytes_come_back_from_the_protocols_that_have_them(value: Any, protocol: int) -> None:
    assert pickled.decode_pickle(pickle.dumps(unshared(value), protocol)) == value


def test_livecodebench_field_is_decoded() -> None:
    tests = [{"input": "1", "output": "2", "testtype": "stdin"}]
    assert pickled.decode(pack(pickle.dumps(json.dumps(tests)))) == json.dumps(tests)


@given(st.binary(max_size=400))
def test_any_bytes_give_plain_data_or_a_label_error(data: bytes) -> None:
    with suppress(LabelError):
        assert only_plain(pickled.decode_pickle(data))


OPCODES = (
    b"()NIJKMLGFXBTCUVejlatd}]sug0hr12qp\x88\x89\x8a\x8b\x8c\x8e\x94\x95\x85\x86\x87.cRobi\x93\x81"
)


@given(st.lists(st.sampled_from([bytes([code]) for code in OPCODES]) | st.binary(max_size=9)))
def test_any_program_gives_plain_data_or_a_label_error(parts: list[bytes]) -> None:
    with suppress(LabelError):
        assert only_plain(pickled.decode_pickle(b"\x80\x04" + b"".join(parts) + b"."))


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(Exploit(), id="call"),
        pytest.param(Ordinary(), id="instance"),
        pytest.param(eval, id="function"),
        pytest.param({1, 2}, id="set"),
        pytest.param(1j, id="complex"),
        pytest.param([Exploit()], id="nested call"),
    ],
)
def test_anything_but_plain_data_is_refused(value: Any, protocol: int) -> None:
    with pytest.raises(LabelError, match="more than plain data"):
        pickled.decode_pickle(pickle.dumps(value, protocol))


def test_container_in_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(LabelError, match="in two places, or in itself"):
        pickled.decode_pickle(pickle.dumps(value))


def test_shared_containers_that_unfold_exponentially_are_refused() -> None:
    value: list[Any] = []
    for _ in range(60):
        value = [value, value]
    with pytest.raises(LabelError, match="in two places"):
        pickled.decode_pickle(pickle.dumps(value))


def test_shared_text_is_decoded() -> None:
    text = "some text that is long enough to be shared"
    assert pickled.decode_pickle(pickle.dumps([text, text])) == [text, text]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        pytest.param("no base64!", "not base64", id="base64"),
        pytest.param("käse", "not base64", id="not ascii"),
        pytest.param(base64.b64encode(b"no zlib").decode(), "not zlib data", id="zlib"),
        pytest.param(pack(b""), "damaged", id="empty pickle"),
        pytest.param(pack(b"\x80\x04N"), "damaged", id="no stop"),
        pytest.param(pack(b"\x80\x04."), "does not end with one value", id="empty stack"),
        pytest.param(pack(b"(."), "does not end with one value", id="mark"),
        pytest.param(pack(b"a."), "damaged", id="append to nothing"),
        pytest.param(pack(b"h\x05."), "damaged", id="empty memo"),
        pytest.param(pack(b"X\xff\xff\xff\xffab."), "damaged", id="length beyond the end"),
        pytest.param(pack(b"I" + b"9" * 10_000 + b"\n."), "damaged", id="endless integer"),
    ],
)
def test_damaged_field_is_refused_with_the_reason(field: str, message: str) -> None:
    with pytest.raises(LabelError, match=message):
        pickled.decode(field)


def test_cut_off_field_is_refused() -> None:
    packed = zlib.compress(pickle.dumps("text" * 1000))
    with pytest.raises(LabelError, match="cut off"):
        pickled.decode(base64.b64encode(packed[:-8]).decode())


def test_zip_bomb_is_refused_without_being_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickled, "MAX_BYTES", 1 << 20)
    bomb = base64.b64encode(zlib.compress(b"\0" * (1 << 26), 9)).decode()
    tracemalloc.start()
    try:
        with pytest.raises(LabelError, match="more than 1048576 bytes"):
            pickled.decode(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


def test_exactly_the_cap_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps("x" * 1000)
    monkeypatch.setattr(pickled, "MAX_BYTES", len(data))
    assert pickled.decode(pack(data)) == "x" * 1000
    monkeypatch.setattr(pickled, "MAX_BYTES", len(data) - 1)
    with pytest.raises(LabelError, match="more than"):
        pickled.decode(pack(data))


def test_more_objects_than_the_cap_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickled, "MAX_OBJECTS", 100)
    with pytest.raises(LabelError, match="more than 100 objects"):
        pickled.decode_pickle(b"(" + b"]" * 1000 + b"l.")
