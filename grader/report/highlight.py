"""Colour the syntax of code with Pygments; bounded in size, since the code is hostile."""

from typing import TYPE_CHECKING

from grader import languages
from grader.text.visible import pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

MAX_CHARS = 20_000
"""Longer code is shown plain, since the cost of the lexer grows with the length."""
_MAX_LINE_CHARS = 2_000
"""Code with a longer line is shown plain as well: people do not write such lines."""


def highlighted(code: str, language: str = languages.PYTHON) -> "Markup":
    """Return code as HTML for a `pre`: a `span` for each line.

    Symbols stand for characters that act or hide. The stylesheet numbers the lines.
    """
    from markupsafe import Markup, escape

    lines = [Markup("")]
    for kind, text in _tokens(code, language):
        css = _CLASSES.get(kind, "")
        first, *rest = text.split("\n")
        for number, part in enumerate((first, *rest)):
            if number:
                lines.append(Markup(""))
            for piece, is_symbol in pieces(part):
                if is_symbol:
                    lines[-1] += Markup('<span class="sym">{}</span>').format(piece)
                elif css:
                    lines[-1] += Markup('<span class="{}">{}</span>').format(css, piece)
                else:
                    lines[-1] += escape(piece)
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    return Markup("").join(Markup('<span class="l">{}</span>').format(line) for line in lines)


_CLASSES = {
    "Keyword": "k",
    "String": "s",
    "Comment": "c",
    "Number": "n",
    "Name.Function": "f",
    "Name.Class": "f",
    "Name.Builtin": "b",
    "Name.Decorator": "b",
    "Operator.Word": "k",
}
"""CSS classes of the kinds of tokens that have a colour, by the names of Pygments."""


def _tokens(code: str, language: str) -> "Iterator[tuple[str, str]]":
    if len(code) > MAX_CHARS or any(len(line) > _MAX_LINE_CHARS for line in code.split("\n")):
        yield "", code
        return
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    found = languages.find(language)
    try:  # Dialects have an image in common, which has the name of their language.
        lexer = get_lexer_by_name(found.image if found else languages.PYTHON)
    except ClassNotFound:
        yield "", code
        return
    lexer.stripnl = lexer.ensurenl = False
    for token, text in lexer.get_tokens(code):
        name = ".".join(token[-3:]).removeprefix("Literal.")
        yield next((known for known in _CLASSES if name.startswith(known)), ""), text
