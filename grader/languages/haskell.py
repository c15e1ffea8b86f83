"""Haskell, by GHC, with the libraries that come with it."""

import re

from grader.languages.language import ErrorWords, Language

LANGUAGES = (
    Language(
        name="haskell",
        title="Haskell",
        image="haskell",
        aliases=frozenset({"hs", "ghc"}),
        packages={"ghc": "ghc"},
        folders=("/usr/include", "/var/lib/ghc"),
        source="solution.hs",
        compile=(
            "ghc",
            "-v0",
            "-w",
            "-O",
            "-fdiagnostics-color=never",
            "-o",
            "program",
            "{source}",
        ),
        run=("./program",),
        program=re.compile(r"^main\b", re.MULTILINE),
        compile_words=ErrorWords(
            message=re.compile(r"solution\.hs:\d+:\d+: error:\s*(?P<message>.+)"),
            line=re.compile(r"solution\.hs:(?P<line>\d+):\d+: error"),
        ),
        runtime_words=ErrorWords(
            message=re.compile(r"^program: (?P<message>.+)", re.MULTILINE),
            line=re.compile(r" at solution\.hs:(?P<line>\d+):"),
        ),
        out_of_memory=("heap exhausted", "out of memory"),
    ),
)
