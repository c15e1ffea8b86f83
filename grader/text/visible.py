"""Make hostile text visible: symbols replace characters that act on a terminal, page or log.

Models, labels and submissions can write anything: escape sequences that recolour or retitle a
terminal, marks that reverse the direction of text, invisible characters, lone surrogates that
cannot be encoded. Each is replaced: a control character by its picture ("␛"), any other by its code
point ("⟨U+202E⟩"). Newlines and tabs stay. The result is harmless, and the original can still be
read off.

Templates escape markup; this module does not.
"""

import unicodedata
from collections.abc import Iterator

_KEPT = "\n\t"
_MARKS_PER_LETTER = 4
"""No script stacks more combining marks on a letter; more would grow into the lines around it."""

# Invisible characters for which `str.isprintable` is true: code points that Unicode calls "default
# ignorable" but does not put into category Cf, and blanks that it does not put into category Zs.
_UNSEEN = frozenset(
    "\N{COMBINING GRAPHEME JOINER}\N{HANGUL CHOSEONG FILLER}\N{HANGUL JUNGSEONG FILLER}"
    "\N{HANGUL FILLER}\N{HALFWIDTH HANGUL FILLER}\N{BRAILLE PATTERN BLANK}"
    "\N{KHMER VOWEL INHERENT AQ}\N{KHMER VOWEL INHERENT AA}"
) | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}

_ASCII = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in _KEPT}
_ASCII[0x7F] = "\N{SYMBOL FOR DELETE}"


def visible(text: str) -> str:
    """Return `text` with symbols in place of characters that act or hide.

    The result has no control characters except newline and tab, no lone surrogates, and no marks
    of direction; it encodes as UTF-8. Takes linear time.
    """
    if text.isascii():
        return text.translate(_ASCII)
    return "".join(piece for piece, _ in pieces(text))


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield `text` in pieces, each with whether it is a symbol in place of a character.

    So a terminal or page can show a symbol differently from the same character in the text. The
    joined pieces are what `visible` returns.
    """
    start = marks = 0
    for index, char in enumerate(text):
        if char.isascii():
            marks = 0
            if char.isprintable() or char in _KEPT:
                continue
        elif unicodedata.category(char) in ("Mn", "Me") and char not in _UNSEEN:
            marks += 1
            if marks <= _MARKS_PER_LETTER:
                continue
        else:
            marks = 0
            if char.isprintable() and char not in _UNSEEN:
                continue
        if start < index:
            yield text[start:index], False
        yield _symbol(char), True
        start = index + 1
    if start < len(text):
        yield text[start:], False


def visible_line(text: str) -> str:
    """Like `visible`, but on one line: newlines and tabs become symbols, too."""
    shown = visible(text)
    if "\n" in shown or "\t" in shown:
        shown = shown.replace("\n", "\N{SYMBOL FOR NEWLINE}")
        shown = shown.replace("\t", "\N{SYMBOL FOR HORIZONTAL TABULATION}")
    return shown


def _symbol(char: str) -> str:
    code = ord(char)
    return _ASCII.get(code) or f"⟨U+{code:04X}⟩"
