"""The Lua scripts that change the ledger, each in one atomic step. They need Redis 7 or later.

All of them read the clock of Redis, so a worker or client whose own clock jumps changes nothing.
A job is a hash: its `state` is a `JobState`, its `token` tells one delivery from the next, and its
`waiters` are the clients that wait for its answer. Scripts that free memory declare `allow-oom`, so
they run even if Redis is full; `submit` and `store_suite`, which need memory, do not.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files

from grader.queueing.names import AnswerKind, Counter, JobState, Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One script as Redis runs it."""

    source: str
    digest: str
    """SHA-1, by which Redis remembers it."""


def _lua_table(name: str, members: type[StrEnum]) -> str:
    fields = ", ".join(f"{member.name} = '{member.value}'" for member in members)
    return f"local {name} = {{{fields}}}\n"


def _load() -> dict[str, Script]:
    sources = {
        file.name.removesuffix(".lua"): file.read_text()
        for file in files(__name__).iterdir()
        if file.name.endswith(".lua")
    }
    tables = (("KEY", Key), ("COUNTER", Counter), ("ANSWER", AnswerKind), ("STATE", JobState))
    prelude = "".join(_lua_table(*table) for table in tables) + sources.pop("prelude")
    scripts = {}
    for name, text in sources.items():
        shebang, _, body = text.partition("\n")  # Redis wants it in the first line.
        source = f"{shebang}\n{prelude}{body}"
        digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
        scripts[name] = Script(source=source, digest=digest)
    return scripts


SCRIPTS: Mapping[str, Script] = _load()
"""By the name of its file, without `.lua`."""
