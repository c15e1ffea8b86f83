"""One address behind which now this server answers, now that, as a name of a managed Redis does."""

import asyncio
import threading
from contextlib import suppress

_PIECE_BYTES = 1 << 16


class Relay:
    """Passes connections on from a thread of its own."""

    def __init__(self, target: int) -> None:
        """Listen on a free port of the loopback address, and lead to another port of it."""
        self._target = target
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay")
        self._thread.start()
        starting = asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result()
        self.port = int(self._server.sockets[0].getsockname()[1])

    def lead_to(self, target: int) -> None:
        """Lead new connections to another port."""
        self._target = target

    def cut(self) -> None:
        """Cut all connections."""
        self._loop.call_soon_threadsafe(self._cut)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _end(self) -> None:
        self._server.close()
        self._cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        both = {writer, inner_writer}
        self._open |= both
        await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))
        self._open -= both


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
