"""Messages over a stream socket: a length and a JSON list, both bounded."""

import json
import os
import struct
from typing import Any

_LENGTH = struct.Struct(">I")
_READ_BYTES = 64 * 1024
# Bound here, because tests may patch `os` while they use a channel.
_read, _write, _close = os.read, os.write, os.close
# Without the search for cycles: what is sent was made for it, or was checked. Each call of a test
# takes two messages.
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_decode = json.JSONDecoder().raw_decode
MAX_MESSAGE_BYTES = 32 * 1024 * 1024

Message = list[Any]


class ChannelClosed(Exception):
    """The other process is gone."""


class ChannelError(Exception):
    """The other process sent something other than a message."""


class MessageTooLong(ChannelError):
    """The message is longer than `MAX_MESSAGE_BYTES`; nothing of it was sent."""


class Channel:
    """One end of the connection between judge and candidate."""

    def __init__(self, descriptor: int) -> None:
        # Not a socket object, which would touch more memory in every fork.
        self._descriptor = descriptor
        self._received = b""

    def send(self, message: Message) -> None:
        """Send a message.

        Raises:
            ChannelClosed: The other process is gone.
            MessageTooLong: It is longer than `MAX_MESSAGE_BYTES`; nothing was sent.
        """
        data = _encode(message).encode()
        if len(data) > MAX_MESSAGE_BYTES:
            raise MessageTooLong(f"a message of {len(data)} bytes is too long")
        try:
            self._write(_LENGTH.pack(len(data)) + data)
        except OSError as error:
            raise ChannelClosed(str(error)) from None

    def receive(self) -> Message:
        """Wait for a message.

        Raises:
            ChannelClosed: The other process is gone.
            ChannelError: It sent something other than a message.
        """
        (size,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if size > MAX_MESSAGE_BYTES:
            raise ChannelError(f"a message of {size} bytes is too long")
        try:
            text = self._read(size).decode()
            message, end = _decode(text)
        except (ValueError, RecursionError) as error:
            raise ChannelError(f"a message is not JSON: {type(error).__name__}") from None
        if end != len(text):
            raise ChannelError("a message is more than one JSON value")
        if not isinstance(message, list) or not message or not isinstance(message[0], str):
            raise ChannelError("a message is a list that starts with its kind")
        return message

    def close(self) -> None:
        """Hang up, which ends the other process."""
        _close(self._descriptor)

    def _write(self, data: bytes) -> None:
        written = _write(self._descriptor, data)
        while written < len(data):
            written += _write(self._descriptor, data[written:])

    def _read(self, size: int) -> bytes:
        # Most messages are short and come whole: one call for length and content.
        parts = [self._received]
        missing = size - len(self._received)
        while missing > 0:
            try:
                part = _read(self._descriptor, max(_READ_BYTES, min(missing, 1 << 20)))
            except OSError as error:
                raise ChannelClosed(str(error)) from None
            if not part:
                raise ChannelClosed("the connection ended")
            parts.append(part)
            missing -= len(part)
        data = b"".join(parts)
        self._received = data[size:]
        return data[:size]
