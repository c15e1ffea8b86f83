"""C++ in two dialects, by GCC."""

import re
from dataclasses import replace

from grader.languages.c import GCC_WORDS, MAIN
from grader.languages.language import Language, Words

_CPP17 = Language(
    name="cpp",
    title="C++17",
    image="cpp",
    aliases=frozenset(
        {
            *("c++", "cc", "cxx", "g++", "gpp", "hpp", "c++11", "c++14", "c++17"),
            *("cpp11", "cpp14", "cpp17", "gnu c++", "gnu c++17", "c++17 (gcc 7-32)"),
        }
    ),
    packages={"g++": "g++"},
    folders=("/usr/include",),
    source="solution.cpp",
    compile=(
        *("g++", "-O2", "-std=gnu++17", "-w", "-pipe", "-fdiagnostics-color=never"),
        *("-o", "program", "{source}"),
    ),
    run=("./program",),
    program=MAIN,
    compile_words=GCC_WORDS,
    runtime_words=Words(message=re.compile(r"terminate called .*\n\s*what\(\):\s+(?P<message>.+)")),
    out_of_memory=("std::bad_alloc",),
)

LANGUAGES = (
    _CPP17,
    replace(
        _CPP17,
        name="cpp20",
        title="C++20",
        aliases=frozenset({"c++20", "gnu c++20", "c++20 (gcc 11-64)", "c++20 (gcc 13-64)"}),
        compile=tuple(part.replace("gnu++17", "gnu++20") for part in _CPP17.compile),
    ),
)
