"""SQL, by SQLite: the input of a case is SQL as well, and runs ahead of the submission."""

import re

from grader.languages.language import ErrorWords, Language

_WORDS = ErrorWords(
    message=re.compile(r"\b(?:[Ee]rror|Error)(?: near line \d+)?: (?P<message>.+)"),
    line=re.compile(r"[Ee]rror near line (?P<line>\d+):"),
)

LANGUAGES = (
    Language(
        name="sql",
        title="SQL",
        image="sql",
        aliases=frozenset({"sqlite", "sqlite3"}),
        packages={"sqlite3": "sqlite3"},
        source="solution.sql",
        # Tables and rows come from the input of a case; they last as long as its run.
        run=(
            *("sqlite3", "-batch", "-bail", ":memory:"),
            *(".read /dev/stdin", ".read {source}"),
        ),
        time_factor=1.0,
        compile_words=_WORDS,
        runtime_words=_WORDS,
        out_of_memory=("out of memory",),
    ),
)
