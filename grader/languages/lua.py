"""Lua."""

import re

from grader.languages.language import Language, Words

_WORDS = Words(
    message=re.compile(r"solution\.lua:\d+: (?P<message>.+)"),
    line=re.compile(r"solution\.lua:(?P<line>\d+): "),
)

LANGUAGES = (
    Language(
        name="lua",
        title="Lua",
        image="lua",
        aliases=frozenset({"lua5.3", "lua5.4"}),
        packages={"lua5.4": "lua5.4", "luac5.4": "lua5.4"},
        folders=("/usr/share/lua",),
        source="solution.lua",
        compile=("luac5.4", "-p", "{source}"),
        run=("lua5.4", "{source}"),
        time_factor=3.0,
        compile_words=_WORDS,
        runtime_words=_WORDS,
        out_of_memory=("not enough memory",),
    ),
)
