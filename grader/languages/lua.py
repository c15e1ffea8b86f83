"""Lua."""

import re

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Language,
    TranslatedTests,
    ValueDriver,
    call_first,
)

_WORDS = ErrorWords(
    message=re.compile(r"solution\.lua:\d+: (?P<message>.+)"),
    line=re.compile(r"solution\.lua:(?P<line>\d+): "),
)

_SHOW = """
local function shownForTests(value)
    if type(value) == "string" then return (string.format("%q", value):gsub("\\n", "n")) end
    if type(value) == "number" then
        if value == math.floor(value) and math.abs(value) < 2^53 then
            return string.format("%.0f", value)
        end
        return string.format("%.17g", value)
    end
    if type(value) ~= "table" then return tostring(value) end
    local items = {}
    for key, item in pairs(value) do
        items[#items + 1] = "[" .. shownForTests(key) .. "] = " .. shownForTests(item)
    end
    table.sort(items)
    return "{" .. table.concat(items, ", ") .. "}"
end
"""


def show(values: ValueDriver) -> str:
    """Show the values of expressions: tables by their keys in order, and 1.0 as 1."""
    form = 'print("\\n{mark} {number} " .. shownForTests({expression}))'
    return "\n".join([values.code, _SHOW, values.statements(form)])


_TESTS = TranslatedTests(
    start="lu.assertEquals(",
    split=call_first(")"),
    setup="local candidate = {name}",
)

_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<condition>\bassert\s*\()"),
    comments=r"--\[\[.*?\]\]|--[^\n]*",
    has_braces=False,
    truth="not not ({})",
    stub=lambda _begun, name: f"function {name}() end",
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
        show=show,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        compile_words=_WORDS,
        runtime_words=_WORDS,
        out_of_memory=("not enough memory",),
    ),
)
