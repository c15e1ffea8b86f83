"""Find a program of another language than Python among the code blocks of an answer.

Nothing is parsed here: fences say which language a block is in, and a language may say how a whole
program is told from a part of one.
"""

from dataclasses import dataclass

from grader import languages
from grader.extract.blocks import Block, Tag, find_blocks
from grader.extract.source import Reader
from grader.languages import Language
from grader.model.overrides import ExtractionRule

_MAX_BLOCKS = 64
"""Blocks that are looked at: the last ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A program, or why there is none."""

    code: str | None
    note: str


def language_of(text: str, reader: Reader) -> Language | None:
    """Return the language of the program in an answer that may be in any; None for Python.

    It is that of the last block with a whole program. Of languages whose programs nothing marks,
    the last block counts, and only where no block of Python's is.
    """
    blocks = find_blocks(text, reader)[-_MAX_BLOCKS:]
    named = [(block, languages.find(block.word)) for block in blocks]
    for block, language in reversed(named):
        if language is not None and _is_whole(block.content(text), language):
            return language
    if any(block.tag is Tag.PYTHON for block in blocks):
        return None
    return next((language for _, language in reversed(named) if language is not None), None)


def find_program(text: str, language: Language, reader: Reader, rule: ExtractionRule) -> Found:
    """Return the program of an answer.

    Args:
        text: The answer, without what is no part of it.
        language: What it is in.
        reader: For what the text has of Python.
        rule: `AUTO` takes the last block that holds a whole program; the rules of position take
            what they say.
    """
    blocks = find_blocks(text, reader)[-_MAX_BLOCKS:]
    own = [block for block in blocks if block.word in language.names]
    pool = own or [block for block in blocks if block.tag is Tag.NONE]
    pool = [block for block in pool if block.content(text).strip()]
    pool = [block for block in pool if block.closed] or pool
    if pool:
        block, which = _choose(text, pool, language, rule)
        kind = f"of {language.title}" if own else "without a language"
        note = f"Took the {which} of {len(pool)} code blocks {kind}."
        return Found(code=block.content(text), note=note)
    if blocks:
        others = ", ".join(dict.fromkeys(repr(block.word) for block in blocks if block.word))
        note = f"No code block is of {language.title}; there are blocks of {others or 'nothing'}."
        return Found(code=None, note=note)
    if not text.strip():
        return Found(code=None, note="The answer is empty.")
    if language.program is not None and language.program.search(text) is None:
        return Found(
            code=None, note=f"The answer has no code block and no {language.title} program."
        )
    return Found(code=text, note="Took the whole answer, which has no code block.")


def _choose(
    text: str, pool: list[Block], language: Language, rule: ExtractionRule
) -> tuple[Block, str]:
    if rule is ExtractionRule.FIRST_BLOCK:
        return pool[0], "first"
    if rule is ExtractionRule.AUTO:
        for block in reversed(pool):
            if _is_whole(block.content(text), language):
                return block, "last whole program"
    return pool[-1], "last"


def _is_whole(code: str, language: Language) -> bool:
    """Tell whether code is known to be a whole program."""
    return language.program is not None and language.program.search(code) is not None
