"""Finds Python in text by the form of its lines, without parsing it."""

import re
from collections.abc import Iterator
from itertools import islice

_CODE_LINE = re.compile(
    r"[ \t]*(?:@\w|(?:async[ \t]+)?def[ \t]+\w|class[ \t]+\w+[ \t]*[(:]|import[ \t]+\w"
    r"|from[ \t]+[\w.]+[ \t]+import\b|(?:if|elif|while|for|with)\b.*:[ \t]*(?:#.*)?$"
    r"|(?:else|try|finally)[ \t]*:|except\b.*:|return\b|raise[ \t]+\w+\(|pass$|print[ \t]*\("
    r"|[\w.\[\], ]+(?:[-+*/%|&^]|//|\*\*|<<|>>)?=[^=]|[\w.]+\(.*\)[ \t]*(?:#.*)?$)"
)
_MAX_LINES_ABOVE = 100
_SAMPLE_CHARS = 20_000
"""How much text decides whether it looks like code."""
_MAX_MENTIONS = 1000
_MAX_PROSE_CHARS = 256 * 1024
"""How much text is searched for the start of code without a fence."""
_STATEMENT = re.compile(rf"^(?![ \t])(?:{_CODE_LINE.pattern})", re.MULTILINE)
_TOP_LEVEL = re.compile(
    r"^(?:@\w[\w.]*(?:\(.*)?$|(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*[(:]"
    r"|import[ \t]+[\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+)*[ \t]*(?:#.*)?$"
    r"|from[ \t]+[\w.]+[ \t]+import[ \t])",
    re.MULTILINE,
)


def mentions(code: str, entry_point: str) -> bool:
    """Tell whether a line of `code` starts a definition of the entry point's last name."""
    name = re.escape(entry_point.replace("()", "").rpartition(".")[2])
    matches = re.finditer(rf"(?:def|class)[ \t]+{name}\b", code)
    for match in islice(matches, _MAX_MENTIONS):
        before = code[max(0, match.start() - 100) : match.start()].rpartition("\n")[2]
        if before.strip() in {"", "async"}:
            return True
    return False


def code_starts(text: str) -> Iterator[int]:
    """Yield the places where code may start in prose: unindented lines, the likeliest first.

    First the start of the text, if that is a statement; then a line that can only be code (an
    import, a definition) with the statements directly above it; then that line alone; then the
    first line that has the form of a statement.
    """
    text = text[:_MAX_PROSE_CHARS]
    if is_statement(text.lstrip().partition("\n")[0]):
        yield 0
    certain = _TOP_LEVEL.search(text)
    if certain:
        extended = cursor = certain.start()
        for _ in range(_MAX_LINES_ABOVE):
            above = text.rfind("\n", 0, max(cursor - 1, 0)) + 1
            line = text[above : max(cursor - 1, 0)]
            if above == cursor or (line.strip() and not is_statement(line)):
                break
            cursor = above
            extended = cursor if line.strip() else extended
        yield extended
        if extended != certain.start():
            yield certain.start()
    statement = _STATEMENT.search(text)
    if statement:
        yield statement.start()


def definition_start(text: str) -> int:
    """Return the start of the first line that can only be code, or the text's end."""
    certain = _TOP_LEVEL.search(text[:_MAX_PROSE_CHARS])
    return certain.start() if certain else len(text)


def is_statement(line: str) -> bool:
    """Tell whether a line has the form of a statement or a comment."""
    return line.lstrip().startswith("#") or _CODE_LINE.match(line[:200]) is not None


def looks_like_code(text: str) -> bool:
    """Tell whether most lines at the start of `text` have the form of Python statements."""
    lines = [line for line in text[:_SAMPLE_CHARS].split("\n") if line.strip()]
    lines = [line for line in lines if not line.lstrip().startswith("#")]
    code = sum(1 for line in lines if is_statement(line))
    return code > 0 and 2 * code >= len(lines)
