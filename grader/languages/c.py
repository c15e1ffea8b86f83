"""C, by GCC."""

import re

from grader.languages.language import ErrorWords, Language

GCC_WORDS = ErrorWords(
    message=re.compile(r"(?:\b[Ee]rror: |undefined reference to )(?P<message>.+)"),
    line=re.compile(r"^solution\.\w+:(?P<line>\d+):(?:\d+:)? (?:fatal )?error: ", re.MULTILINE),
)
MAIN = re.compile(r"\bmain\s*\(")

LANGUAGES = (
    Language(
        name="c",
        title="C",
        image="c",
        aliases=frozenset({"gcc", "c11", "c17", "c99", "gnu c", "gnu c11"}),
        packages={"gcc": "gcc libc6-dev"},
        folders=("/usr/include",),
        source="solution.c",
        compile=(
            *("gcc", "-O2", "-std=gnu17", "-w", "-pipe", "-fdiagnostics-color=never"),
            *("-o", "program", "{source}", "-lm"),
        ),
        run=("./program",),
        program=MAIN,
        compile_words=GCC_WORDS,
        runtime_words=ErrorWords(message=re.compile(r"(?P<message>Assertion `.{1,500}' failed)")),
    ),
)
