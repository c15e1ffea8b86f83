"""Chooses the code of one answer from its blocks and its plain text, by the rule AUTO.

docs/extraction.md states the order. Each step below starts with the last candidate.
"""

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

from grader.extract.blocks import Block, Tag, find_blocks
from grader.extract.chat import cut_at_end
from grader.extract.continuation import Stub, glue, is_indented, join
from grader.extract.lines import code_starts, definition_start, looks_like_code, mentions
from grader.extract.source import SourceReader, SourceReading, Syntax
from grader.extract.together import complete

MAX_BLOCKS = 64
"""The most blocks that are read; earlier ones are ignored."""
_MAX_CONTINUATIONS = 8

_STRAY_MARK = re.compile(r"```|~~~|</(?:answer|code|python|solution)>|\[/PYTHON\]")
_TAG_LINE = re.compile(r"\s*(?:python|py)[\d.]*[ \t]*\n", re.IGNORECASE)


class Grade(IntEnum):
    """How good a choice is; the higher, the better."""

    NOTHING = 0
    BROKEN = 1
    """It does not parse, or may not be code."""
    FRAGMENT = 2
    """It parses, but lacks the entry point or, without one, is not a whole program."""
    WHOLE = 3
    """It defines the entry point or, without one, is a whole program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The code that was chosen, if any, with a sentence that explains the choice."""

    grade: Grade
    note: str
    reading: SourceReading | None = None
    """None only, and always, with `Grade.NOTHING`."""
    joined: bool = False
    """Whether the code already begins with the suite's code prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCode:
    """What the answer should contain."""

    entry_point: str | None
    stub: Stub | None
    prompt: str
    """Code that is in it word for word counts as quoted."""
    is_program: bool = False
    """Whether the code must do something besides defining things."""

    def quoted(self, code: str) -> bool:
        """Tell whether `code` only repeats a part of the prompt."""
        return bool(self.prompt) and code.strip() in self.prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    reading: SourceReading
    block: Block
    blank: bool
    quoted: bool


class Chooser:
    """Chooses among the candidates of one text."""

    def __init__(self, text: str, wanted: WantedCode, reader: SourceReader) -> None:
        self._text = text
        self._wanted = wanted
        self._reader = reader
        self._blocks = find_blocks(text, reader)
        self._candidates = self._read_blocks()

    def choose(self) -> Choice:
        """Return the best choice by the documented order."""
        steps: tuple[Callable[[], Choice | None], ...] = (
            self._whole_block,
            self._plain_code,
            self._continuation,
            self._quoted_block,
            self._broken_definition,
            self._driver,
            self._fragment,
            self._broken_block,
            self._broken_text,
        )
        for step in steps:
            choice = step()
            if choice is not None:
                return choice
        return Choice(grade=Grade.NOTHING, note=self._why_nothing())

    # ------------------------------------------------------------ candidates

    def _read_blocks(self, *, all_of_them: bool = False) -> list[_Candidate]:
        """Read the blocks that may be Python, the last first, until one is the answer."""
        python = [block for block in self._blocks if block.tag is not Tag.OTHER]
        blocks = (python or self._blocks)[-MAX_BLOCKS:]
        candidates: list[_Candidate] = []
        for block in reversed(blocks):
            reading = self._read_block(block)
            candidate = _Candidate(
                reading=reading,
                block=block,
                blank=not reading.code.strip(),
                quoted=self._wanted.quoted(reading.code),
            )
            candidates.append(candidate)
            if not all_of_them and self._is_answer_block(candidate):
                break
        return candidates

    def _read_block(self, block: Block) -> SourceReading:
        """Read a block; if it does not parse, without usual faults of models."""
        content = block.content(self._text)
        if block.tag is Tag.NONE and (tag := _TAG_LINE.match(content)):
            content = content[tag.end() :]
        as_it_stands = self._reader.read(content)
        if as_it_stands.syntax is not Syntax.BROKEN:
            return as_it_stands
        for mended in self._mended(content):
            reading = self._reader.read(mended)
            if reading.valid and mended.strip():
                return reading
        if not block.closed:
            leading = self._read_leading(content)
            if leading.valid and self._is_answer(leading):
                return leading
        return as_it_stands

    def _read_leading(self, code: str) -> SourceReading:
        # If an entry point is wanted, a broken statement after its definition does not matter.
        return self._reader.read_leading(code, drop_code=self._wanted.entry_point is not None)

    @staticmethod
    def _mended(content: str) -> Iterator[str]:
        yield textwrap.dedent(content)
        stray = _STRAY_MARK.search(content)
        if stray:
            yield content[: stray.start()]
        if (ended := cut_at_end(content)) != content:
            yield ended

    def _is_answer(self, reading: SourceReading) -> bool:
        """Tell whether a reading defines the entry point or, without one, is a whole program."""
        if self._wanted.entry_point is not None:
            return reading.defines(self._wanted.entry_point)
        return reading.substantial and reading.is_program

    def _is_answer_block(self, candidate: _Candidate) -> bool:
        return (
            candidate.block.closed
            and self._is_whole(candidate)
            and not candidate.quoted
            and self._stands_alone(candidate)
        )

    def _stands_alone(self, candidate: _Candidate) -> bool:
        """Tell whether a whole block has code of its own for what it defines.

        After a solution, models often show a template of it, or tests that import it.
        """
        reading, entry_point = candidate.reading, self._wanted.entry_point
        if entry_point is not None:
            return reading.builds(entry_point)
        return not reading.is_outline and not (
            reading.imported
            and any(
                any(other.builds(name) for name in reading.imported)
                for other in map(self._read_block, self._blocks[-MAX_BLOCKS:])
                if other is not reading
            )
        )

    def _is_whole(self, candidate: _Candidate) -> bool:
        return not candidate.blank and self._is_answer(candidate.reading)

    # ------------------------------------------------------------ the steps, in order

    def _whole_block(self) -> Choice | None:
        whole = [each for each in self._candidates if self._is_whole(each) and not each.quoted]
        alone = [each for each in whole if self._stands_alone(each)]
        for closed in (True, False):
            for tags in self._tag_classes():
                for candidate in alone or whole:
                    if candidate.block.closed is closed and candidate.block.tag in tags:
                        return self._put_together(candidate)
        return None

    def _put_together(self, candidate: _Candidate) -> Choice:
        """Return a whole block, together with what it uses of other blocks."""
        if self._wanted.entry_point is not None:
            return self._completed(candidate) or self._block_choice(Grade.WHOLE, candidate)
        if self._wanted.is_program and not candidate.reading.acts:
            # It would print nothing by itself; perhaps a later block uses what it defines.
            return self._driver() or self._answering_input(candidate)
        if not self._wanted.is_program:
            return self._with_users(candidate)
        return self._answering_input(candidate)

    def _answering_input(self, candidate: _Candidate) -> Choice:
        """Return a whole block or, if it does not read and print, the last one that does.

        Explanations after a program show lines of it, such as `print(-1)`.
        """
        if not candidate.reading.answers_input:
            for other in self._read_blocks(all_of_them=True):
                if self._is_answer_block(other) and other.reading.answers_input:
                    return self._block_choice(Grade.WHOLE, other)
        return self._block_choice(Grade.WHOLE, candidate)

    def _with_users(self, candidate: _Candidate) -> Choice:
        """Return a whole block, together with blocks that only define what uses its names."""
        choice = self._block_choice(Grade.WHOLE, candidate)
        codes, bound = [candidate.reading.code], candidate.reading.bound
        for other in self._read_blocks(all_of_them=True)[::-1]:
            new, missing = other.reading.bound, other.reading.missing
            uses = new and missing and missing <= bound and not new & bound
            if uses and self._may_be_used(other) and not other.reading.acts:
                codes.append(other.reading.code)
                bound |= new
        reading = self._reader.read("\n\n".join(codes)) if codes[1:] else candidate.reading
        if not codes[1:] or not reading.valid:
            return choice
        note = f"{choice.note.removesuffix('.')}, with blocks that use what it defines."
        return replace(choice, note=note, reading=reading)

    def _driver(self) -> Choice | None:
        """Return the last block that does something, with what it uses of other blocks."""
        if not self._wanted.is_program or self._wanted.entry_point is not None:
            return None
        for candidate in self._read_blocks(all_of_them=True):
            if self._may_be_used(candidate) and candidate.reading.acts:
                choice = self._completed(candidate)
                if choice is not None and choice.reading and not choice.reading.missing:
                    return choice
        return None

    def _completed(self, candidate: _Candidate) -> Choice | None:
        """Return a block after what it uses of other blocks; None if it uses nothing of them."""
        if len(self._blocks) == 1 or not candidate.reading.missing:
            return None
        candidates = self._read_blocks(all_of_them=True)
        own = next(i for i, each in enumerate(candidates) if each.block is candidate.block)
        later, earlier = (
            [each.reading for each in others if self._may_be_used(each)]
            for others in (candidates[:own][::-1], candidates[own + 1 :])
        )
        code = complete(candidate.reading, earlier, later)
        reading = None if code is None else self._reader.read(code)
        if reading is None or not reading.valid:
            return None
        choice = self._block_choice(Grade.WHOLE, candidate)
        note = f"{choice.note.removesuffix('.')}, with what it uses of other blocks."
        return replace(choice, note=note, reading=reading)

    def _may_be_used(self, candidate: _Candidate) -> bool:
        return (
            candidate.block.closed
            and candidate.block.tag is not Tag.OTHER
            and candidate.reading.valid
            and not candidate.quoted
        )

    def _tag_classes(self) -> tuple[frozenset[Tag], ...]:
        """Return which tags compete; without an entry point, an untagged block may be output."""
        if self._wanted.entry_point is not None:
            return (frozenset(Tag),)
        return frozenset({Tag.PYTHON}), frozenset({Tag.NONE, Tag.OTHER})

    def _plain_code(self) -> Choice | None:
        """Read the text outside blocks: before a stray closing fence, or between prose."""
        text = self._text
        if self._blocks and self._blocks[0].tag is Tag.NONE:
            head = self._reader.read(text[: self._blocks[0].opener])
            if self._is_answer(head) and not self._wanted.quoted(head.code):
                note = "Took the text before the first fence, which closes it."
                return Choice(grade=Grade.WHOLE, note=note, reading=head)
        if self._blocks:
            return None
        for start in code_starts(text):
            reading = self._read_leading(text[start:])
            if self._is_answer(reading) and not self._wanted.quoted(reading.code):
                note = "Took the code between the prose."
                return Choice(grade=Grade.WHOLE, note=note, reading=reading)
        return None

    def _continuation(self) -> Choice | None:
        stub = self._wanted.stub
        if stub is None:
            return None
        texts = [c.reading.code for c in self._candidates if not c.blank and not c.quoted]
        texts.append(self._text[: self._blocks[0].opener] if self._blocks else self._text)
        for text in list(dict.fromkeys(texts))[:_MAX_CONTINUATIONS]:
            reading = join(stub, text, self._reader, trim=not self._blocks)
            if reading:
                note = "Took the prompt's code with the answer as its continuation."
                return Choice(grade=Grade.WHOLE, note=note, reading=reading, joined=True)
        return None

    def _quoted_block(self) -> Choice | None:
        if self._wanted.entry_point is None:
            return None
        for candidate in self._candidates:
            if self._is_whole(candidate):
                note = "Took a block that repeats code of the prompt; there is no other."
                return Choice(grade=Grade.FRAGMENT, note=note, reading=candidate.reading)
        return None

    def _broken_definition(self) -> Choice | None:
        entry_point = self._wanted.entry_point
        if entry_point is None:
            return None
        for candidate in self._candidates:
            broken = candidate.reading.syntax is Syntax.BROKEN
            if broken and mentions(candidate.reading.code, entry_point):
                return self._block_choice(Grade.BROKEN, candidate)
        return None

    def _fragment(self) -> Choice | None:
        for closed in (True, False):
            for candidate in self._candidates:
                if (
                    candidate.block.closed is closed
                    and not candidate.quoted
                    and not candidate.blank
                    and candidate.reading.substantial
                ):
                    return self._block_choice(Grade.FRAGMENT, candidate)
        return None

    def _broken_block(self) -> Choice | None:
        for candidate in self._candidates:
            if (
                candidate.reading.syntax is not Syntax.VALID
                and not candidate.quoted
                and (candidate.block.tag is Tag.PYTHON or looks_like_code(candidate.reading.code))
            ):
                return self._block_choice(Grade.BROKEN, candidate)
        return None

    def _broken_text(self) -> Choice | None:
        if self._blocks and self._blocks[0].tag is not Tag.NONE:
            return None
        text, stub = self._text, self._wanted.stub
        if stray := _STRAY_MARK.search(text):
            text = text[: stray.start()]  # the prompt opened what this closes
        if stub is not None and is_indented(text) and looks_like_code(text):
            reading = self._reader.read(glue(stub, text))
            note = "Took the prompt's code and the answer, which do not parse together."
            return Choice(grade=Grade.BROKEN, note=note, reading=reading, joined=True)
        code = text if looks_like_code(text) else text[definition_start(text) :]
        if not code.strip() or self._wanted.quoted(code):
            return None
        reading = self._reader.read(code)
        note = "Took the text, which has no code block, as code"
        note += "." if reading.valid else " that does not parse."
        return Choice(grade=Grade.BROKEN, note=note, reading=reading)

    # ------------------------------------------------------------ explanations

    def _block_choice(self, grade: Grade, candidate: _Candidate) -> Choice:
        number = self._blocks.index(candidate.block) + 1
        kind = "block" if candidate.block.closed else "unfinished block"
        note = f"Took {kind} {number} of {len(self._blocks)}"
        entry_point = self._wanted.entry_point
        if candidate.reading.syntax is Syntax.UNREAD:
            note += ", too large or too deep to be parsed here"
        elif grade is Grade.WHOLE:
            note += f", the last that defines {entry_point}" if entry_point else ", a whole program"
        elif grade is Grade.FRAGMENT:
            note += f"; none defines {entry_point}" if entry_point else "; none is a whole program"
        else:
            note += ", which does not parse"
        return Choice(grade=grade, note=f"{note}.", reading=candidate.reading)

    def _why_nothing(self) -> str:
        if not self._text.strip():
            return "The answer is empty."
        if not self._blocks:
            return "The answer has no code block and does not read as code."
        if all(candidate.blank for candidate in self._candidates):
            return "Every code block of the answer is empty."
        if any(candidate.quoted for candidate in self._candidates):
            return "The only code of the answer is quoted from the prompt."
        return "No code block of the answer holds Python statements."
