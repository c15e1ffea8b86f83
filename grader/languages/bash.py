"""Bash."""

import re

from grader.languages.language import Language, Words

_WORDS = Words(
    message=re.compile(r"solution\.sh: line \d+: (?P<message>.+)"),
    line=re.compile(r"solution\.sh: line (?P<line>\d+): "),
)

LANGUAGES = (
    Language(
        name="bash",
        title="Bash",
        image="bash",
        aliases=frozenset({"sh", "shell", "shellscript", "zsh"}),
        packages={"bash": "bash", "bc": "bc", "jq": "jq"},
        source="solution.sh",
        compile=("bash", "-n", "{source}"),
        run=("bash", "{source}"),
        time_factor=3.0,
        compile_words=_WORDS,
        runtime_words=_WORDS,
    ),
)
