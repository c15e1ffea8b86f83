"""Hostile text made visible: what would act on a terminal, a page or a log becomes a symbol.

A model, a label and a submission can write anything: escape sequences that recolour or retitle a
terminal, marks that turn the direction of text around, characters that show nothing, halves of
surrogate pairs that no encoder takes. Here each of them becomes text that stands for it: a
control character its picture ("␛"), any other its code point ("⟨U+202E⟩"). Newlines and tabs
stay. What is shown keeps no power, and what it was can still be read.

Markup is not this module's business: templates escape it.
"""

import unicodedata
from collections.abc import Iterator

_KEPT = "\n\t"
_MARKS_PER_LETTER = 4
"""More combining marks than any script stacks on one letter grow into the lines around it."""

# Printable by Python's rules, and yet nothing that can be seen: Unicode's default ignorable code
# points that are no format characters, and blanks that are none by category.
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
    """Return `text` with a symbol for everything in it that acts or hides.

    The result holds no control character but newline and tab, no lone surrogate, and nothing
    that turns direction; it encodes as UTF-8. Takes linear time.
    """
    if text.isascii():
        return text.translate(_ASCII)
    return "".join(piece for piece, _ in pieces(text))


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield `text` in order as pieces, each with whether it is a symbol that stands for another.

    Lets a terminal or a page set apart what is a symbol from the same characters in the text.
    Put together, the pieces are what `visible` returns.
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
    """Return `text` as `visible` does, on one line: newlines and tabs become symbols as well."""
    shown = visible(text)
    if "\n" in shown or "\t" in shown:
        shown = shown.replace("\n", "\N{SYMBOL FOR NEWLINE}")
        shown = shown.replace("\t", "\N{SYMBOL FOR HORIZONTAL TABULATION}")
    return shown


def _symbol(char: str) -> str:
    code = ord(char)
    return _ASCII.get(code) or f"⟨U+{code:04X}⟩"
