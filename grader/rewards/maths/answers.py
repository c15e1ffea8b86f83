"""Finding the final answer in a response or a label. Pure, and linear in the text.

A response may give several answers in several ways. The last one counts (or the first, by the
settings) that is marked as the answer; an equals sign does not mark one. A response that begins
another answer and does not finish it has no answer.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from grader.config.rewards import AnswerPick, AnswerPlace

MAX_ANSWER_CHARS = 2000
"""Longer texts are not accepted as a final answer."""
_READ_CHARS = 100_000
"""Only this much of a response is searched: its end or, for the first answer, its beginning."""
_MAX_MARKS = 200
"""The most marks of one kind that are examined: the last or the first ones."""

_BOX = re.compile(r"\\(?:f?boxed|fbox)\s*(\{|(?=[\w-])|\Z)")
_JOINT = re.compile(
    r"(?:[$\s~]|\\[,;: ]|\\q?quad)*(?:\\text\{\s*)?(?:,|;|,?\s*(?:and|or)\b)\s*\}?"
    r"(?:[$\s~]|\\[,;: ]|\\q?quad)*"
)
_BARE = re.compile(r"-?\w+")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_HASHES = re.compile(r"(?<!#)#{4}(?!#)[ \t]*(.*?)(?=</answer>|$)", re.MULTILINE | re.IGNORECASE)
_VALUE = re.compile(r"(?!\d+[.):]\s+[a-zA-Z])[-+\u2212.\d$\\(\[{]")
_TAG = re.compile(r"<answer>", re.IGNORECASE)
_TAG_END = re.compile(r"</answer>", re.IGNORECASE)
_PHRASE = re.compile(
    r"\b(?:answers?|correct (?:option|choice))\b"
    r"(?:[ \t]+(?:to|of|for|in)[ \t]+[^.:=\n]{1,80}?)?[*_ \t]*"
    r"(?:(?:\bis\b|\bare\b|\bwas\b|\bequals\b|\bwould be\b|\bwill be\b|\bmust be\b|[:=\uff1a])"
    r"[*_ \t]*)+(?:(?:therefore|thus|simply|indeed|exactly|equal to|given by)\b[ \t:]*)?"
    r"|^[#*_ \t]*(?:the[ \t]+)?(?:final[ \t]+)?answer[*_ \t]*$"
    r"|\u7b54\u6848[ \t]*(?:\u5e94\u8be5?)?(?:[\u662f\u4e3a\u9009:\uff1a][ \t]*)+",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE_END = re.compile(
    r"\.(?=[\s\"'*_)\]]*(?:\s|$))|[!?;](?=\s|$)|\u3002|\n|</answer>", re.IGNORECASE
)
_ASIDE = re.compile(
    r",?\s+\(?(?:because|since|which|so|as|where|when|but|giving|meaning|given|i\.e\.|that is)\b"
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
    """The answer that was found in a response."""

    text: str | None
    """None if there is none, or if it is incomplete, empty or too long."""
    note: str
    """Where it was found, or why it is None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    start: int
    end: int
    text: str | None
    """None if its end is missing."""
    place: str


_Finder = Callable[[str, AnswerPick], Iterator[_Mark]]


def find_answer(
    response: str, place: AnswerPlace = AnswerPlace.AUTO, pick: AnswerPick = AnswerPick.LAST
) -> Answer:
    """Return the final answer of a response.

    Args:
        response: The response, without thoughts and special tokens.
        place: Where to look.
        pick: Which answer counts if there are several.
    """
    finders: tuple[_Finder, ...] = {
        AnswerPlace.BOXED: (_boxes,),
        AnswerPlace.HASHES: (_hashes,),
        AnswerPlace.TAGS: (_tags,),
        AnswerPlace.PHRASE: (_phrases,),
    }.get(place, (_boxes, _hashes, _tags, _phrases))
    is_first = pick is AnswerPick.FIRST
    response = response[:_READ_CHARS] if is_first else response[-_READ_CHARS:]
    # Programs contain "the answer is" and `####` without giving an answer.
    prose = without_code(response)
    mark = _picked(prose, finders, pick)
    if prose != response and not (mark and mark.text != ""):
        mark = _picked(response, finders, pick) or mark
    if mark is not None:
        return _answer(mark)
    if place is AnswerPlace.LAST_NUMBER and (numbers := _NUMBER.findall(response)):
        number = numbers[0 if is_first else -1].strip()
        return Answer(text=number, note=f"the {pick} number")
    return Answer(text=None, note="no answer was found")


def _answer(mark: _Mark) -> Answer:
    if mark.text is None:
        return Answer(text=None, note=f"{mark.place} does not end")
    if not mark.text:
        return Answer(text=None, note=f"{mark.place} is empty")
    if len(mark.text) > MAX_ANSWER_CHARS:
        note = (
            f"{mark.place} has {len(mark.text):,} characters;"
            f" a final answer has at most {MAX_ANSWER_CHARS:,}"
        )
        return Answer(text=None, note=note)
    return Answer(text=mark.text, note=mark.place)


def without_code(text: str) -> str:
    """Return a text with a blank line instead of each closed code block."""
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
    r"""Return the answer in a label: the text after `####`, else the last box, else all of it."""
    for find in (_hashes, _boxes):
        mark = _picked(label, (find,), AnswerPick.LAST)
        if mark and mark.text:
            return mark.text
    return label.strip()


def _picked(text: str, finders: tuple[_Finder, ...], pick: AnswerPick) -> _Mark | None:
    marks = [mark for find in finders for mark in find(text, pick)]
    if pick is AnswerPick.FIRST:
        return min(marks, key=lambda mark: mark.start, default=None)
    return max(marks, key=lambda mark: mark.end, default=None)


def _matches(pattern: re.Pattern[str], text: str, pick: AnswerPick) -> list[re.Match[str]]:
    found = list(pattern.finditer(text))
    return found[:_MAX_MARKS] if pick is AnswerPick.FIRST else found[-_MAX_MARKS:]


def _within(text: str, *finders: _Finder) -> str | None:
    """Return the answer inside a text, such as a box in a sentence; else the whole text."""
    mark = _picked(text, finders, AnswerPick.LAST)
    return text.strip() if mark is None else mark.text


def _boxes(text: str, pick: AnswerPick) -> Iterator[_Mark]:
    r"""Yield the boxes; those that a comma, "and" or "or" joins are one answer, once each."""
    found = _matches(_BOX, text, pick)
    closings = _closings(text) if found else {}
    start, end, contents = 0, 0, list[str]()
    for match in found:
        if contents and not _JOINT.fullmatch(text, end, match.start()):
            yield _Mark(start=start, end=end, text=_listed(contents), place="the box")
            contents = []
        start = start if contents else match.start()
        bare = None if match[1] else _BARE.match(text, match.end())
        closing = closings.get(match.end() - 1) if match[1] else None
        if not bare and closing is None:
            yield _Mark(start=start, end=len(text), text=None, place="the box")
            contents = []
            continue
        end = bare.end() if bare else (closing or 0) + 1
        contents.append(bare[0] if bare else text[match.end() : end - 1].strip())
    if contents:
        yield _Mark(start=start, end=end, text=_listed(contents), place="the box")


def _listed(contents: list[str]) -> str:
    return ", ".join(dict.fromkeys(contents))


def _closings(text: str) -> dict[int, int]:
    """Return the position of the closing brace by that of the opening one."""
    opened: list[int] = []
    closings: dict[int, int] = {}
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            opened.append(match.start())
        elif match[0] == "}" and opened:
            closings[opened.pop()] = match.start()
    return closings


def _hashes(text: str, pick: AnswerPick) -> Iterator[_Mark]:
    end = len(text.rstrip())
    for match in _matches(_HASHES, text, pick):
        answer = _unwrapped(match[1])
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if not line.strip(" \t>*") and match.end() < end and not _VALUE.match(answer):
            continue  # A heading in Markdown.
        answer_within = _within(answer, _boxes, _phrases)
        yield _Mark(
            start=match.start(), end=match.end(), text=answer_within, place="the answer after ####"
        )


def _tags(text: str, pick: AnswerPick) -> Iterator[_Mark]:
    for match in _matches(_TAG, text, pick):
        closing = _TAG_END.search(text, match.end())
        answer = None
        if closing:
            content = _unwrapped(text[match.end() : closing.start()])
            answer = _within(content, _boxes, _hashes, _phrases)
        yield _Mark(
            start=match.start(),
            end=closing.end() if closing else len(text),
            text=answer,
            place="the answer tag",
        )


def _phrases(text: str, pick: AnswerPick) -> Iterator[_Mark]:
    for match in _matches(_PHRASE, text, pick):
        answer = _within(_phrase_answer(text, match.end()), _boxes)
        is_cut = not answer and not text[match.end() : match.end() + MAX_ANSWER_CHARS].strip()
        if answer or answer is None or is_cut:
            yield _Mark(
                start=match.start(),
                end=match.end() + 1,
                text=None if is_cut else answer,
                place='what follows "the answer is"',
            )


def _phrase_answer(text: str, start: int) -> str:
    """Return the answer after the phrase: delimited mathematics, else the rest of the sentence."""
    rest = text[start : start + 2 * MAX_ANSWER_CHARS].lstrip(" \t\n*_`\"'")
    for opening, closing in _DISPLAY:
        if rest.startswith(opening):
            inner, found, behind = rest[len(opening) :].partition(closing)
            # In "$5 million" the dollar is a currency, and opens nothing.
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
