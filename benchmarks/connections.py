"""Many open connections to a service, each with one request on its way: clients as verl's are."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for a request."""

    status: int
    body: bytes
    took_s: float
    """From when the request was sent."""


def post_all(port: int, path: str, bodies: Sequence[bytes], *, connections: int) -> list[Answer]:
    """Post each body once, over so many connections that all stay open; answers in their order."""
    return asyncio.run(_post_all(port, path, bodies, connections))


async def _post_all(
    port: int, path: str, bodies: Sequence[bytes], connections: int
) -> list[Answer]:
    requests = [_request(path, body) for body in bodies]
    answers: list[Answer | None] = [None] * len(requests)
    left = iter(range(len(requests)))
    await asyncio.gather(*(_work(port, requests, left, answers) for _ in range(connections)))
    return [answer for answer in answers if answer is not None]


async def _work(
    port: int, requests: Sequence[bytes], left: Iterator[int], answers: list[Answer | None]
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in left:
        started = time.perf_counter()
        writer.write(requests[number])
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        took_s = time.perf_counter() - started
        answers[number] = Answer(int(head[9:12]), body, took_s)
    writer.close()


def _request(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
