"""Bash."""

import re

from grader.languages.bash_tests import read_assertions, read_bats
from grader.languages.language import (
    Assertions,
    ErrorWords,
    Language,
    TranslatedTests,
    ValueDriver,
)

_WORDS = ErrorWords(
    message=re.compile(r"solution\.sh: line \d+: (?P<message>.+)"),
    line=re.compile(r"solution\.sh: line (?P<line>\d+): "),
)


def show(values: ValueDriver) -> str:
    """Show the values of expressions, quoted as Bash itself quotes.

    Values of exercises keep all characters but line breaks, so that a part of a value is a part of
    what is shown.
    """
    form = "printf '\\n%s %s %q\\n' {mark} {number} {expression}"
    if values.around:
        form = "printf '\\n%s %s %s\\n' {mark} {number} \"$(shown_for_tests {expression})\""
    return "\n".join([values.code, values.statements(form)])


def split_assertion(rest: str) -> tuple[str, str] | None:
    """Split `$(candidate ...) = "VALUE" ]]`; see `TranslatedTests.sides`."""
    found = re.fullmatch(r'(\$\(candidate.*\)) = (".*") \]\]', rest)
    return None if found is None else (f'"{found[1]}"', found[2])


_TESTS = TranslatedTests(
    start="[[ ",
    call='"$(candidate',
    split=split_assertion,
    name=re.compile(r"^candidate\(\) \{\n\s*(\w+)", re.MULTILINE),
    setup='candidate() {{ {name} "$@"; }}',
)

_OWN_PATH, _RUN_PATH = r'"?\$\{?BASH_SOURCE(?:\[0\])?\}?"?', r'"?\$\{?0\}?"?'
_IS_RUN = re.compile(
    rf"(?:{_OWN_PATH}\s*(?:==?|(?P<unequal>!=))\s*{_RUN_PATH}"
    rf"|{_RUN_PATH}\s*(?:==?|(?P<unlike>!=))\s*{_OWN_PATH})"
    r"|(?P<loaded>\(\s*return(?:\s+0)?(?:\s*2?>\s*/dev/null|\s+2>&1)*\s*;?\s*\))"
)


def _as_loaded(condition: re.Match[str]) -> str:
    """Return what holds if and only if the condition does in a script that another one loads."""
    if condition["loaded"]:  # a script that is not loaded cannot return
        return "(exit 0)"
    return "-n loaded" if condition["unequal"] or condition["unlike"] else "-z loaded"


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
        only_checks=True,
        run=("bash", "{source}"),
        time_factor=3.0,
        show=show,
        tests=_TESTS,
        exercises=read_bats,
        assertions=Assertions(comments=r"(?m:^)[ \t]*#[^\n]*", read=read_assertions),
        compile_words=_WORDS,
        is_run=(_IS_RUN, _as_loaded),
        reads_input=re.compile(
            r"(?:^|[;|&({]|\b(?:while|until|if|do|IFS=\S*))[ \t]*(?:read|mapfile|readarray)\b"
            r"|/dev/stdin|\$\(cat\)"
            r"|^[ \t]*(?:awk|sed|sort|tr|grep|cut|paste|bc|xargs|wc|head|tail|uniq)\b",
            re.MULTILINE,
        ),
        runtime_words=_WORDS,
    ),
)
