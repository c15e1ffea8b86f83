"""Explains an engine's error messages to the person who reads them. Pure.

The messages are English prose that differs between versions, so they only choose a hint, and decide
nothing else. An unknown message is passed on as it is.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hint:
    pattern: re.Pattern[str]
    advice: str


def _hint(pattern: str, advice: str) -> _Hint:
    return _Hint(pattern=re.compile(pattern, re.IGNORECASE), advice=advice)


_HINTS = (
    _hint(
        r"version: .*(Connection refused|Failed to resolve|timed out)"
        r"|^(FileNotFoundError|ConnectionRefusedError|TimeoutError)\(",
        "no Docker engine answers; start it (`dockerd`, or `systemctl start docker`), "
        "or give its address in DOCKER_HOST",
    ),
    _hint(
        r"PermissionError|permission denied while trying to connect",
        "this user may not use the Docker engine; run as root, or join the group docker",
    ),
    _hint(
        r"unknown or invalid runtime|unknown runtime specified|runtime \S+ not found",
        "the engine does not know this runtime; `docker info` lists those that it has",
    ),
    _hint(
        r"seccomp.*(not supported|not enabled)|(not supported|not enabled).*seccomp",
        "this engine or kernel lacks seccomp, which submissions need",
    ),
    _hint(
        r"apparmor.*(not loaded|not enabled|apply profile)",
        "this AppArmor profile is not loaded on the host of the engine",
    ),
    _hint(
        r"no space left on device",
        "the disk of the engine is full; `docker system df` shows what takes the space",
    ),
)


def explain(message: str) -> str:
    """Return an engine's message, after a hint what to do if one is known."""
    text = " ".join(message.split())
    for hint in _HINTS:
        if hint.pattern.search(text):
            return f"{hint.advice} ({text})"
    return text
