"""Bash."""

import re

from grader.languages.language import ErrorWords, Language, TranslatedTests, ValueDriver

_WORDS = ErrorWords(
    message=re.compile(r"solution\.sh: line \d+: (?P<message>.+)"),
    line=re.compile(r"solution\.sh: line (?P<line>\d+): "),
)


def show(values: ValueDriver) -> str:
    """Show the values of expressions, quoted as Bash itself quotes."""
    form = "printf '\\n%s %s %q\\n' {mark} {number} {expression}"
    return "\n".join([values.code, values.statements(form)])


def split_assertion(rest: str) -> tuple[str, str] | None:
    """Split `$(candidate ...) = "VALUE" ]]`; see `TranslatedTests.split`."""
    found = re.fullmatch(r'(\$\(candidate.*\)) = (".*") \]\]', rest)
    return None if found is None else (f'"{found[1]}"', found[2])


_TESTS = TranslatedTests(
    start="[[ ",
    call='"$(candidate',
    split=split_assertion,
    name=re.compile(r"^candidate\(\) \{\n\s*(\w+)", re.MULTILINE),
    setup='candidate() {{ {name} "$@"; }}',
)

LANGUAGES = (
    Language(
        name="bash",
        title="Bash",
        image="bash",
        aliases=frozenset({"sh", "shell", "shellscript", "zsh"}),
        packages={"bash": "bash", "bc": "bc", "jq": "jq"},
        source="solution.sh",
        other_endings=(".bash",),
        compile=("bash", "-n", "{source}"),
        run=("bash", "{source}"),
        time_factor=3.0,
        show=show,
        tests=_TESTS,
        compile_words=_WORDS,
        runtime_words=_WORDS,
    ),
)
