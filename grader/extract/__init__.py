"""Finds the code in a completion. Pure, takes linear time, and never raises.

docs/extraction.md explains which code is taken, and why.
"""

from dataclasses import dataclass, replace
from typing import assert_never

from grader import languages
from grader.extract.blocks import NAMES_IN_MARKERS, Block, Tag, find_blocks
from grader.extract.chat import Words, assistant_turns, opens_thinking, without_thinking
from grader.extract.choose import Choice, Chooser, Grade, WantedCode
from grader.extract.continuation import Stub, is_indented, join, read_stub, with_prompt_definitions
from grader.extract.predictions import find_prediction
from grader.extract.programs import continues_function, find_files, find_program, language_of
from grader.extract.source import SourceReader, SourceReading
from grader.extract.text import after_prompt, encodable, normalise
from grader.extract.wrapped import unwrapped
from grader.languages import ANY, PYTHON, with_closed_blocks
from grader.model.overrides import ExtractionRule
from grader.source.syntax import MAX_PARSE_CHARS

_UNFINISHED = "The answer ends inside a thinking section; code in one is a draft."


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The code of a completion, and how it was found."""

    code: str | None
    """None if none was found; never blank, and always encodable as UTF-8."""
    note: str
    """One sentence that says what was taken, or why nothing was found."""
    language: str = PYTHON
    """The language of the code."""


def extract(
    completion: str,
    *,
    prompt: str = "",
    rule: ExtractionRule = ExtractionRule.AUTO,
    entry_point: str | None = None,
    continues: str | None = None,
    is_program: bool = False,
    language: str = PYTHON,
) -> Extraction:
    """Find the code in a completion.

    Args:
        completion: Raw model output, or a query that starts with `prompt` or with its end.
        prompt: The text that the model was given. It tells the prompt's words from the model's.
            Code in it is not taken, unless it is at the end and the model continues it.
        rule: Which of several candidates is the code.
        entry_point: The function or class that the tests use, or `Class.method`.
        continues: The suite's code prompt, which the completion may continue.
        is_program: Whether the tests run the code and compare what it prints.
        language: The language of the code; `ANY` if the answer's fences tell it. See
            `grader.languages.named`.

    Returns:
        The code, or None with the reason. Hostile text costs linear time and bounded memory.
    """
    if rule is ExtractionRule.VERBATIM:
        found = _found(encodable(completion), "Took the completion as it stands.")
        return found if language == ANY else replace(found, language=language)
    extractor = _Extractor(
        prompt=normalise(prompt),
        entry_point=entry_point,
        continues=normalise(continues or ""),
        is_program=is_program,
    )
    if language != PYTHON:
        found_program = extractor.run_other(normalise(completion), rule, language)
        if found_program is not None:
            return found_program
    return extractor.run(normalise(completion), rule)


def _found(code: str, note: str) -> Extraction:
    if not code.strip():
        return Extraction(code=None, note="What the extraction rule selects is empty.")
    return Extraction(code=code, note=note)


class _Extractor:
    def __init__(
        self, *, prompt: str, entry_point: str | None, continues: str, is_program: bool
    ) -> None:
        self._reader = SourceReader()
        self._prompt = prompt
        self._continues = continues
        self._stub = read_stub(continues) if continues.strip() else None
        if entry_point is None and self._stub is not None:
            entry_point = self._stub.entry_point
        self._wanted = WantedCode(
            entry_point=entry_point, stub=self._stub, prompt=prompt, is_program=is_program
        )

    def run(self, completion: str, rule: ExtractionRule) -> Extraction:
        rest = after_prompt(completion, self._prompt)
        answer = completion if rest is None else rest
        if not answer.strip():
            return Extraction(code=None, note="The answer is empty.")
        if rule is ExtractionRule.LIVECODEBENCH:
            return _livecodebench(self._words(answer).text)
        if rule is ExtractionRule.AUTO and (plain := self._plain(answer)) is not None:
            return plain
        turns = assistant_turns(answer, self._reader, answer_first=rest is not None)
        match rule:
            case ExtractionRule.AUTO:
                return self._several(turns) or self._finish(self._best(turns))
            case ExtractionRule.FIRST_BLOCK | ExtractionRule.LAST_BLOCK:
                words = self._words(turns[0] if turns else "")
                return self._by_position(words, first=rule is ExtractionRule.FIRST_BLOCK)
            case ExtractionRule.PREDICTED_OUTPUT | ExtractionRule.PREDICTED_INPUT:
                return self._predicted(turns, rule)
            case ExtractionRule.VERBATIM:
                return _found(completion, "Took the completion as it stands.")
        assert_never(rule)

    def _predicted(self, turns: list[str], rule: ExtractionRule) -> Extraction:
        words = self._words(turns[0] if turns else "")
        wants_call = rule is ExtractionRule.PREDICTED_INPUT
        function = self._wanted.entry_point or "f"
        code = find_prediction(words.text, function, self._reader, wants_call=wants_call)
        if code is not None:
            return Extraction(code=code, note="Took the prediction of the answer's assertion.")
        wanted = f"{function}(...)" if wants_call else "value"
        note = f"The answer holds neither an assertion on {function} nor a {wanted}, of literals."
        return Extraction(code=None, note=_UNFINISHED if words.unfinished else note)

    # ------------------------------------------------------------ other languages

    def run_other(self, completion: str, rule: ExtractionRule, language: str) -> Extraction | None:
        """Find a program in another language; None if `language` is `ANY` and it is in Python."""
        rest = after_prompt(completion, self._prompt)
        answer = completion if rest is None else rest
        turns = assistant_turns(answer, self._reader, answer_first=rest is not None)
        found = None
        for turn in turns:
            words = self._words(turn)
            named = languages.find(language) or language_of(words.text, self._reader)
            if named is None:
                continue
            program = find_program(
                words.text,
                named,
                self._reader,
                rule,
                entry_point=None if self._wanted.is_program else self._wanted.entry_point,
                continues=bool(self._continues),
            )
            note = _UNFINISHED if program.code is None and words.unfinished else program.note
            code = program.code and self._continued(program.code)
            found = Extraction(code=code, note=note, language=named.name)
            if program.code is not None:
                break
        if found is None and language != ANY:
            note = "The text holds no answer of the assistant."
            return Extraction(code=None, note=note, language=language)
        return found

    def _continued(self, code: str) -> str:
        """Return code in another language, after the prompt's code if it continues that code."""
        entry_point = self._wanted.entry_point
        if self._continues and entry_point and continues_function(code, entry_point):
            return with_closed_blocks(f"{self._continues}{code}")
        return code

    # ------------------------------------------------------------ AUTO

    def _plain(self, answer: str) -> Extraction | None:
        """Take an answer that is code as a whole; its strings may look like fences or tags."""
        if opens_thinking(self._prompt):
            return None
        reading = self._reader.read(answer)
        entry_point = self._wanted.entry_point
        whole = reading.defines(entry_point) if entry_point else reading.substantial
        if reading.valid and whole and not reading.missing & NAMES_IN_MARKERS:
            note = "Took the whole answer, which is plain code."
            return self._finish(Choice(grade=Grade.WHOLE, note=note, reading=reading))
        if self._stub is not None and (is_indented(answer) or "```" not in answer):
            joined = join(self._stub, answer, self._reader, trim=False)
            if joined is not None:
                note = "Took the prompt's code with the answer as its continuation."
                return Extraction(code=joined.code, note=note)
        if is_indented(answer) and (choice := self._continuing_prompt(answer)) is not None:
            return self._finish(choice)
        return None

    def _several(self, turns: list[str]) -> Extraction | None:
        """Take a program of several files."""
        if not self._wanted.is_program:
            return None
        for turn in turns:
            words = self._words(turn)
            blocks = find_blocks(words.text, self._reader)
            if (files := find_files(words.text, blocks, None)) is not None:
                return Extraction(code=files.code, note=files.note)
        return None

    def _best(self, turns: list[str]) -> Choice:
        best = Choice(grade=Grade.NOTHING, note="The text holds no answer of the assistant.")
        for turn in turns:
            words = self._words(turn)
            choice = Chooser(words.text, self._wanted, self._reader).choose()
            if choice.grade < Grade.WHOLE:
                choice = (
                    self._continuing_prompt(words.text) or self._unwrapped(words.text) or choice
                )
            if choice.grade is Grade.NOTHING and words.unfinished:
                choice = replace(choice, note=_UNFINISHED)
            if choice.grade > Grade.NOTHING:
                return choice
            if best.reading is None and turn is turns[0]:
                best = choice
        return best

    def _unwrapped(self, answer: str) -> Choice | None:
        for text in unwrapped(answer, self._reader):
            choice = Chooser(text, self._wanted, self._reader).choose()
            if choice.grade is Grade.WHOLE and not choice.joined:
                return replace(choice, note="Took the code out of what it was wrapped in.")
        return None

    def _words(self, turn: str) -> Words:
        return without_thinking(turn, self._reader, opened=opens_thinking(self._prompt))

    def _continuing_prompt(self, answer: str) -> Choice | None:
        """Read the answer as the continuation of code at the end of the prompt."""
        if not self._prompt.strip() or not answer.strip() or len(answer) > MAX_PARSE_CHARS:
            return None
        wanted = replace(self._wanted, stub=None)
        choice = Chooser(self._prompt + answer, wanted, self._reader).choose()
        if choice.grade is not Grade.WHOLE:
            return None
        return replace(choice, note="Took code that the prompt begins and the answer continues.")

    def _finish(self, choice: Choice) -> Extraction:
        if choice.reading is None:
            return Extraction(code=None, note=choice.note)
        code = choice.reading.code
        if self._stub is not None and not choice.joined:
            code = with_prompt_definitions(self._stub, choice.reading)
        return _found(code, choice.note)

    # ------------------------------------------------------------ rules of position

    def _by_position(self, words: Words, *, first: bool) -> Extraction:
        blocks = find_blocks(words.text, self._reader)
        pool = _pool(blocks)
        name = "first" if first else "last"
        if not pool:
            if words.unfinished:
                return Extraction(code=None, note=_UNFINISHED)
            choice = Chooser(words.text, self._wanted, self._reader).choose()
            return self._finish(choice)
        code = pool[0 if first else -1].content(words.text)
        if not code.strip():
            return Extraction(code=None, note=f"The {name} code block is empty.")
        reading = self._reader.read(code)
        number = 1 if first else len(pool)
        note = f"Took code block {number} of {len(pool)}, the {name}."
        return self._positioned(reading, note)

    def _positioned(self, reading: SourceReading, note: str) -> Extraction:
        stub: Stub | None = self._stub
        if stub is not None and not reading.defines(stub.entry_point):
            joined = join(stub, reading.code, self._reader, trim=False)
            if joined is not None:
                return _found(joined.code, note)
        return self._finish(Choice(grade=Grade.WHOLE, note=note, reading=reading))


def _pool(blocks: list[Block]) -> list[Block]:
    """Return the blocks to choose from by position.

    If any are closed, only these; and if any of these are Python, only those.
    """
    for candidates in ([b for b in blocks if b.closed], blocks):
        python = [block for block in candidates if block.tag is not Tag.OTHER]
        if python or candidates:
            return python or candidates
    return []


def _livecodebench(text: str) -> Extraction:
    """Take the text between the last two lines that contain three backticks."""
    last = text.rfind("```")
    last_line = text.rfind("\n", 0, max(last, 0)) + 1
    previous = text.rfind("```", 0, last_line) if last != -1 else -1
    if previous == -1:
        return Extraction(code=None, note="Fewer than two lines contain three backticks.")
    start = text.find("\n", previous) + 1
    code = text[start : max(last_line - 1, start)]
    return _found(code, "Took the text between the last two lines with three backticks.")
