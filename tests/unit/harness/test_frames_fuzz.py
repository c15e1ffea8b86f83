"""Whatever bytes come, the readers of frames and values raise only what they declare."""

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox_images.harness.split import plain
from sandbox_images.harness.split.channel import Channel, ChannelClosed, ChannelError
from sandbox_images.harness.split.judge import DoesNotCompile, Judge, Refused
from sandbox_images.harness.wire import frames, values

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["nan", "0xff", "1.5", "builtins", "len", "ANY", "sys", "modules", "<f8", "="]
    )
)
TAGS = st.sampled_from([*"itfcbBtsSdDFTnCOeqrlygMPx@", "j", "c", "k", "judge", "module", "how"])
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TAGS, inner, max_size=2),
    max_leaves=20,
)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.binary(max_size=8)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.datetimes()
    | st.timedeltas(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=4)
        | st.frozensets(st.integers(), max_size=4)
        | st.sets(st.text(max_size=4), max_size=4)
    ),
    max_leaves=20,
)

fuzz = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


# ---------------------------------------------------------------- frames


@fuzz
@given(st.lists(st.binary(max_size=64), max_size=8))
def test_frame_reader_fed_anything_raises_only_frame_errors(chunks: list[bytes]) -> None:
    reader = frames.FrameReader(max_header_bytes=64, max_body_bytes=64)
    try:
        for chunk in chunks:
            for header, blobs in reader.feed(chunk):
                assert isinstance(header, dict)
                assert all(isinstance(blob, bytes) for blob in blobs)
    except frames.FrameError:
        return
    assert len(reader._buffer) <= frames.PREFIX.size + 128


@fuzz
@given(JSON, st.binary(max_size=16))
def test_frame_of_any_header_raises_only_frame_errors(header: Any, body: bytes) -> None:
    head = json.dumps(header).encode()
    reader = frames.FrameReader()
    with suppress(frames.FrameError):
        list(reader.feed(frames.PREFIX.pack(len(head), len(body)) + head + body))


@fuzz
@given(st.lists(st.binary(max_size=32), max_size=4), st.integers(1, 7))
def test_frames_cut_anywhere_come_whole(blobs: list[bytes], step: int) -> None:
    data = frames.encode({"op": "run"}, *blobs) * 2
    reader = frames.FrameReader()

    got = [f for i in range(0, len(data), step) for f in reader.feed(data[i : i + step])]

    assert got == [({"op": "run"}, blobs)] * 2


# ---------------------------------------------------------------- values


@fuzz
@given(JSON)
def test_decoding_any_json_raises_only_value_errors(encoded: Any) -> None:
    with suppress(values.ValueDecodeError):
        values.decode(encoded)


@fuzz
@given(JSON)
def test_decoding_any_exception_raises_only_value_errors(encoded: Any) -> None:
    with suppress(values.ValueDecodeError):
        assert isinstance(plain.decode_exception(encoded), Exception)


@fuzz
@given(PLAIN)
def test_plain_data_crosses_unchanged(value: Any) -> None:
    with suppress(values.UnencodableError):
        check_that_it_crosses(value)


def check_that_it_crosses(value: Any) -> None:
    encoded = plain.encode(value)
    back = plain.decode(json.loads(json.dumps(encoded)))

    assert back == value
    assert repr(back) == repr(value)
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "encoded",
    [
        pytest.param({"n": ["<f8", [2_000_000, 2_000_000, 0], ""]}, id="an array of empty rows"),
        pytest.param({"n": ["<f8", [1 << 62, 0], ""]}, id="an array of a huge shape"),
        pytest.param({"n": [">U999999999", [1], "AAAA"]}, id="an array of huge texts"),
        pytest.param({"D": "9" * 10_000_000}, id="a decimal of ten million digits"),
        pytest.param(
            [{"F": [{"i": "0x" + "9" * 250_000}, {"i": "0x" + "7" * 250_001}]}] * 40,
            id="fractions of huge numbers",
        ),
        pytest.param({"q": [[], 1 << 70]}, id="a deque of a huge length"),
        pytest.param({"r": [0, {"i": "0x" + "f" * 1000}, 1]}, id="a huge range"),
        pytest.param({"i": "0x" + "f" * 10_000_000}, id="a number of forty million bits"),
    ],
)
@pytest.mark.timeout(10)
def test_decoding_what_is_costly_ends_soon(encoded: Any) -> None:
    with suppress(values.ValueDecodeError):
        values.decode(encoded)


# ---------------------------------------------------------------- the channel and the judge


@contextmanager
def sent(data: bytes) -> Iterator[Channel]:
    """Lend a channel that receives these bytes, and then its end."""
    ours, theirs = socket.socketpair()
    writer = threading.Thread(target=_send_all, args=(theirs, data))
    writer.start()
    channel = Channel(ours.detach())
    try:
        yield channel
    finally:
        channel.close()
        writer.join()


def _send_all(end: socket.socket, data: bytes) -> None:
    with end:
        try:
            end.sendall(data)
            end.shutdown(socket.SHUT_WR)
            while end.recv(1 << 16):
                pass
        except OSError:
            pass


def message(content: Any) -> bytes:
    """Return a message as it stands on the channel."""
    data = json.dumps(content).encode()
    return struct.pack(">I", len(data)) + data


@fuzz
@given(st.binary(max_size=64))
def test_receiving_anything_raises_only_channel_errors(data: bytes) -> None:
    with sent(data) as channel:
        try:
            while True:
                received = channel.receive()
                assert isinstance(received, list)
                assert isinstance(received[0], str)
        except (ChannelClosed, ChannelError):
            pass


@pytest.mark.parametrize("more", [b" []", b"]", b" null", b"\0", b" "])
def test_a_message_is_one_json_value_and_nothing_else(more: bytes) -> None:
    data = b'["ret", 1]' + more
    with sent(struct.pack(">I", len(data)) + data) as channel, pytest.raises(ChannelError):
        channel.receive()


ANSWERS = st.tuples(st.sampled_from(["ret", "exc", "no", "loaded", "?"]), JSON, JSON) | st.tuples(
    st.sampled_from(["ret", "no", "loaded", "compile_error"]), JSON
)


class Left(BaseException):
    """The judge left its process."""


@fuzz
@given(ANSWERS, st.booleans())
def test_judge_given_any_answer_stays_in_its_bounds(
    answer: tuple[Any, ...],
    loads: bool,
) -> None:
    def leave() -> NoReturn:
        raise Left

    with sent(message(answer)) as channel:
        judge = Judge(channel, watched=True, leave=leave, tell_forged=lambda _why: None)
        try:
            if loads:
                judge.load({"names": ["f"], "classes": [], "modules": ["math"], "nowhere": []})
                return
            result = judge.call(["f"], ([1, [2]],), {})
        except Refused:
            assert judge.refused is not None
        except Left:
            pass
        except StopIteration:
            pytest.fail("it would end a loop of the tests")
        except DoesNotCompile:
            assert loads
        except tuple(plain.EXCEPTIONS.values()):
            pass
        else:
            plain.encode(result)
