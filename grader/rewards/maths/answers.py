"""Find the final answer in a response, or in a label. Pure, and linear in the text.

A response may give its answer several times, in several ways; what counts is the one that it
gives last in a way that says "this is the answer". An equals sign says no such thing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.reward_settings import AnswerPlace

MAX_ANSWER_CHARS = 2000
"""What is longer is no final answer."""
_READ_CHARS = 100_000
"""The end of a response that is looked at: a final answer stands there."""
_MAX_MARKS = 200
"""Answers of one kind that are looked at; the last ones."""

_BOX = re.compile(r"\\(?:f?boxed|fbox)\s*(\{|(?=[\w-]))")
_HASHES = re.compile(r"^[ \t>*]*#{4}(?!#)[ \t]*(.*)$", re.MULTILINE)
_PHRASE = re.compile(
    r"\banswers?\b(?:[ \t]+(?:to|of|for|in)[ \t]+[^.:=\n]{1,80}?)?[*_ \t]*"
    r"(?:(?:\bis\b|\bare\b|\bwas\b|\bequals\b|\bwould be\b|\bwill be\b|\bmust be\b|[:=\uff1a])"
    r"[*_ \t]*)+(?:(?:therefore|thus|simply|indeed|exactly|equal to|given by)\b[ \t:]*)?",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"\.(?=[\s\"'*_)\]]*(?:\s|$))|[!?;](?=\s|$)|\n")
_ASIDE = re.compile(
    r",?\s+(?:because|since|which|so|as|where|when|but|giving|meaning|given|i\.e\.|that is)\b"
    r"|\s+[\u2013\u2014-]{1,2}\s+(?=[a-zA-Z]{2})",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,])[-+\u2212]?[$\u20ac\u00a3]?\d(?:[\d,]*\d)?(?:\.\d+)?(?:[eE][-+]?\d+)?"
    r"(?:\s*/\s*\d+)?\s*\\?%?"
)
_DISPLAY = (("$$", "$$"), ("\\[", "\\]"), ("$", "$"), ("\\(", "\\)"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a response gives as its answer."""

    text: str | None
    """None where it gives none, or one that cannot be read."""
    note: str
    """Where it was found, or why there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    end: int
    text: str | None
    place: str


def find_answer(response: str, place: AnswerPlace = AnswerPlace.AUTO) -> Answer:
    """Return the final answer of a response.

    Args:
        response: The model's words, without thoughts and special tokens.
        place: Where it may stand.
    """
    kinds = {
        AnswerPlace.BOXED: (_boxes,),
        AnswerPlace.HASHES: (_hashes,),
        AnswerPlace.PHRASE: (_phrases,),
    }.get(place, (_boxes, _hashes, _phrases))
    response = response[-_READ_CHARS:]
    # A program says "the answer is" without giving one, and `####` begins its comments.
    prose = without_code(response)
    marks = [mark for find in kinds for mark in find(prose)]
    if not marks and prose != response:
        marks = [mark for find in kinds for mark in find(response)]
    if marks:
        last = max(marks, key=lambda mark: mark.end)
        if last.text is None:
            return Answer(text=None, note=f"{last.place} does not end")
        text = last.text.strip()
        if not text:
            return Answer(text=None, note=f"{last.place} is empty")
        if len(text) > MAX_ANSWER_CHARS:
            return Answer(text=None, note=f"{last.place} has {len(text)} characters")
        return Answer(text=text, note=last.place)
    if place is AnswerPlace.LAST_NUMBER and (number := _last_number(response)):
        return Answer(text=number, note="the last number")
    return Answer(text=None, note="no answer was found")


def without_code(text: str) -> str:
    """Return a text with a blank line for each closed block of code in it."""
    kept: list[str] = []
    opened: int | None = None
    for line in text.splitlines(keepends=True):
        if line.lstrip(" \t").startswith("```"):
            if opened is None:
                opened = len(kept)
            elif not line.strip(" \t\n`"):
                del kept[opened:]
                kept.append("\n")
                opened = None
                continue
        kept.append(line)
    return "".join(kept)


def gold_answer(label: str) -> str:
    r"""Return the answer of a label: what follows its `####`, else its last box, else all of it."""
    for find in (_hashes, _boxes):
        marks = [mark for mark in find(label) if mark.text]
        if marks:
            return (marks[-1].text or "").strip()
    return label.strip()


def _boxes(text: str) -> Iterator[_Mark]:
    for match in list(_BOX.finditer(text))[-_MAX_MARKS:]:
        if not match[1]:
            bare = re.compile(r"-?\w+").match(text, match.end())
            if bare:
                yield _Mark(end=bare.end(), text=bare[0], place="the box")
            continue
        end = _closing_brace(text, match.end())
        content = None if end is None else text[match.end() : end]
        yield _Mark(end=len(text) if end is None else end, text=content, place="the box")


def _closing_brace(text: str, start: int) -> int | None:
    depth = 1
    limit = min(len(text), start + 2 * MAX_ANSWER_CHARS)
    position = start
    while position < limit:
        char = text[position]
        if char == "\\":
            position += 1
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if not depth:
                return position
        position += 1
    return None


def _hashes(text: str) -> Iterator[_Mark]:
    for match in list(_HASHES.finditer(text))[-_MAX_MARKS:]:
        yield _Mark(end=match.end(), text=_unwrapped(match[1]), place="after ####")


def _phrases(text: str) -> Iterator[_Mark]:
    for match in list(_PHRASE.finditer(text))[-_MAX_MARKS:]:
        answer = _phrase_answer(text, match.end())
        # Where the phrase introduces a box, the box says it better, and ends further down.
        if answer and not _BOX.search(answer):
            yield _Mark(end=match.end() + 1, text=answer, place='after "the answer is"')


def _phrase_answer(text: str, start: int) -> str:
    """Return what stands behind the phrase: mathematics in delimiters, else a sentence's rest."""
    rest = text[start : start + 2 * MAX_ANSWER_CHARS].lstrip(" \t\n*_`\"'")
    for opening, closing in _DISPLAY:
        if rest.startswith(opening):
            inner, found, behind = rest[len(opening) :].partition(closing)
            # "$5 million" opens nothing: the dollar is a currency.
            if found and "\n\n" not in inner and not (opening == "$" and _is_price(inner)):
                joined = re.match(r"\s*(?:and|or|,)\s*(?=\$|\\\()", behind)
                return _sentence(rest) if joined else inner
    return _sentence(rest)


def _is_price(inner: str) -> bool:
    return bool(re.match(r"\d[\d,.]*\s+[a-zA-Z]{2}", inner))


def _sentence(rest: str) -> str:
    end = _SENTENCE_END.search(rest)
    sentence = rest[: end.start()] if end else rest
    aside = _ASIDE.search(sentence)
    if aside and aside.start():
        sentence = sentence[: aside.start()]
    return _unwrapped(sentence)


def _unwrapped(text: str) -> str:
    return text.strip().strip("*_`\"' \t").strip()


def _last_number(text: str) -> str | None:
    found = None
    for match in _NUMBER.finditer(text):
        found = match[0].strip()
    return found
