"""What an engine's complaint means for the person who reads it. Pure.

The engine's messages are English prose that differs between versions, so nothing is decided by
them: they choose a hint, never a verdict. A message that matches nothing is passed on as it is.
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
        r"version: .*(FileNotFoundError|Connection refused|Failed to resolve|timed out)",
        "no Docker engine answers; start it (`dockerd`, or `systemctl start docker`), "
        "or say where it is with DOCKER_HOST",
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
        "this engine or kernel lacks seccomp, without which no submission is run",
    ),
    _hint(
        r"apparmor.*(not loaded|not enabled|apply profile)",
        "this AppArmor profile is not loaded on the host of the engine",
    ),
    _hint(
        r"no space left on device",
        "the disk of the engine is full; `docker system df` says by what",
    ),
)


def explain(message: str) -> str:
    """Return what to do about an engine's message, before the message itself."""
    text = " ".join(message.split())
    for hint in _HINTS:
        if hint.pattern.search(text):
            return f"{hint.advice} ({text})"
    return text
