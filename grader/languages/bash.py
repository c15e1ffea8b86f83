"""Bash."""

import re

from grader.languages.language import ErrorWords, Language, ValueDriver

_WORDS = ErrorWords(
    message=re.compile(r"solution\.sh: line \d+: (?P<message>.+)"),
    line=re.compile(r"solution\.sh: line (?P<line>\d+): "),
)


def show(values: ValueDriver) -> str:
    """Show what expressions are worth, quoted as Bash itself quotes."""
    lines = [values.code, values.setup]
    lines += [
        f"printf '\\n%s %s %q\\n' {values.mark} {number} {expression}"
        for number, expression in enumerate(values.expressions)
    ]
    return "\n".join(lines)


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
        show=show,
        compile_words=_WORDS,
        runtime_words=_WORDS,
    ),
)
