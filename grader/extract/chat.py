"""Finds the assistant's turns in a chat transcript, and removes the thinking from them.

A special token counts only outside closed code blocks; inside a block it belongs to the program.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice

from grader.extract.blocks import Block, find_blocks
from grader.extract.source import SourceReader
from grader.extract.text import without_leading_tokens

MAX_TOKENS = 5000
"""The most tokens of each kind that are read; a chat does not have more."""
_MAX_LOOKS = 8
"""The most parts of an answer in which code blocks are searched."""

_ASSISTANT = frozenset({"assistant", "model", "chatbot", "gpt", "bot", "response", "start"})
"""Names of the assistant's role, with the words of `### Response:` and `<|START_RESPONSE|>`."""
_THINKING_CHANNELS = frozenset({"analysis", "commentary", "thinking"})

_HEADER = re.compile(
    r"<\|im_start\|>[ \t]*(\w{1,20})[^\n<]{0,40}(?:<\|im_sep\|>)?\n?"
    r"|<\|im_(user|assistant|system)\|>[^\n<]{0,40}<\|im_middle\|>"
    r"|<\|(?:start_)?header(?:_start|_id)?\|>[ \t]*(\w{1,20})[ \t]*"
    r"<\|(?:end_)?header(?:_end|_id)?\|>\n{0,2}"
    r"|<\|start_of_role\|>(\w{1,20})[^\n<]{0,40}<\|end_of_role\|>"
    r"|<start_of_turn>[ \t]*(\w{1,20})\n?"
    r"|<\|(user|assistant|system|tool|observation)\|>\n?"
    r"|<\|START_OF_TURN_TOKEN\|><\|(\w{1,20})_TOKEN\|>"
    r"|<\|start\|>(\w{1,20})(?=<\||\s|$)"
    r"|<\|channel\|>(\w{1,20})[^\n<]{0,80}<\|message\|>"
    r"|<\|(START)_RESPONSE\|>"
    r"|<[|\uff5c](User|Assistant)[|\uff5c]>"
    r"|\[\|(user|assistant|system)\|\]\n?"
    r"|(?<![^\n])\#\#\# (Instruction|Response):\n?"
)
_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|end|return|call|eot|EOT"
    r"|END_OF_TURN_TOKEN|END_RESPONSE)\|>|\[\|endofturn\|\]|<end_of_turn>|<(?:/s|eos)>(?=\s|$|<)|<\uff5cend\u2581of\u2581sentence\uff5c>"
)
_INSTRUCTION = re.compile(r"\[/?INST\]")
_TOKEN_STARTS = (
    *("<|", "<\uff5c", "<start_of_turn>", "<end_of_turn>", "[|", "### "),
    *("</s>", "<eos>", "[INST]", "[/INST]"),
)

_THINK_TAGS = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning")),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
)
_THINK_TAG = re.compile("|".join(re.escape(tag) for pair in _THINK_TAGS for tag in pair))
_OPENINGS = frozenset(opening for opening, _ in _THINK_TAGS)
_QUOTES = {"'": "'", '"': '"', "\u2018": "\u2019", "\u201c": "\u201d", "\u00ab": "\u00bb"}
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019](?=\w)")
_BACKTICKS = re.compile(r"`+")
_FENCES = ("```", "~~~")
_PROMPT = -1
_MAX_LINE_CHARS = 2000
"""How much of a line is searched for quotes on each side of a tag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    start: int
    end: int
    role: str | None
    """The role of the turn that the token begins; None if the token ends a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """An answer without its thinking."""

    text: str
    unfinished: bool
    """Whether the text ends inside a thinking section."""


def cut_at_end(code: str) -> str:
    """Return `code` up to the first end-of-turn token in it."""
    match = _END.search(code)
    return code[: match.start()] if match else code


# ---------------------------------------------------------------- programs


class _Programs:
    """Knows which parts of an answer are programs, in which nothing counts as a tag."""

    def __init__(self, text: str, reader: SourceReader) -> None:
        self._text = text
        self._reader = reader
        self._looks = _MAX_LOOKS
        self._from = 0
        self._rest = ""
        self._blocks: list[Block] = []
        self._whole = False

    def begin(self, start: int) -> None:
        """Search for programs from `start` on, ignoring fences before it."""
        self._from, self._rest, self._blocks, self._whole = start, "", [], False
        if self._looks == 0:
            return
        self._looks -= 1
        self._rest = self._text[start:]
        # If all of it is a program, nothing in it is a tag.
        self._whole = _is_program(self._rest, self._reader)
        self._blocks = [block for block in find_blocks(self._rest, self._reader) if block.closed]

    def own(self, start: int, end: int) -> bool:
        """Tell whether a tag belongs to a program.

        If a draft before the tag has left a fence open, the tag may seem to be in a code block.
        Then that block does not parse, and all blocks after the tag are closed.
        """
        if self._whole:
            return True
        at = start - self._from
        index = bisect_right(self._blocks, at, key=lambda block: block.start) - 1
        if index < 0 or at >= self._blocks[index].end:
            return False
        block = self._blocks[index]
        if self._reader.read(block.content(self._rest)).valid or self._looks == 0:
            return True
        self._looks -= 1
        following = find_blocks(self._text[end:], self._reader)
        return not (following and all(block.closed for block in following))


# ---------------------------------------------------------------- turns


def assistant_turns(text: str, reader: SourceReader, *, answer_first: bool) -> list[str]:
    """Return the texts that may be the answer, the likeliest first.

    Text before the first turn's header is the answer if the prompt was cut off before it
    (`answer_first`), or if no turn of the assistant follows. It is also the answer if it has code
    and the next turn is not the assistant's: the model has made up what follows. Otherwise, and if
    the text starts with a begin-of-text token, it is a system prompt, and the text a transcript.
    Then the assistant's last turn counts; an earlier one counts only if no later one has code.
    """
    whole, text = text, without_leading_tokens(text)
    text = _final_channel(text)
    tokens = _tokens(text, reader)
    if not tokens:
        return [text]
    leading = text[: tokens[0].start]
    roles = [token.role for token in tokens if token.role is not None]
    turns = [
        text[token.end : following]
        for token, following in zip(
            tokens, [*(token.start for token in tokens[1:]), len(text)], strict=True
        )
        if token.role in _ASSISTANT and text[token.end : following].strip()
    ]
    turns.reverse()
    if not leading.strip():
        return turns
    if answer_first or not turns:
        return [leading]
    is_transcript = roles[0] in _ASSISTANT or len(text) < len(whole)
    if not is_transcript and _holds_code(leading, reader):
        return [leading]
    return [*turns, leading]


def _holds_code(text: str, reader: SourceReader) -> bool:
    if find_blocks(text, reader):
        return True
    return _is_program(text, reader)


def _is_program(text: str, reader: SourceReader) -> bool:
    reading = reader.read(text)
    return reading.valid and reading.substantial


def _final_channel(text: str) -> str:
    """Return the final channel of an answer in the harmony format, decoded without its tokens."""
    if not text.startswith("analysis"):
        return text
    _, found, answer = text.rpartition("assistantfinal")
    return answer if found else text


def _tokens(text: str, reader: SourceReader) -> list[_Token]:
    found: dict[int, _Token] = {}
    for prefix in _TOKEN_STARTS:
        position = text.find(prefix)
        for _ in range(MAX_TOKENS):
            if position == -1:
                break
            token = _token_at(text, position)
            if token:
                found[position] = token
            position = text.find(prefix, token.end if token else position + len(prefix))
    if not found:
        return []
    programs = _Programs(text, reader)
    programs.begin(0)
    return [found[start] for start in sorted(found) if not programs.own(start, found[start].end)]


def _token_at(text: str, position: int) -> _Token | None:
    header = _HEADER.match(text, position)
    if header:
        role = header[header.lastindex or 0].lower()
        if role in _THINKING_CHANNELS:
            role = "thinking"
        elif header[0].startswith("<|channel|>"):
            role = "assistant"
        return _Token(start=position, end=header.end(), role=role)
    instruction = _INSTRUCTION.match(text, position)
    if instruction:
        role = "assistant" if instruction[0] == "[/INST]" else "user"
        return _Token(start=position, end=instruction.end(), role=role)
    end = _END.match(text, position)
    return _Token(start=position, end=end.end(), role=None) if end else None


# ---------------------------------------------------------------- thinking


def opens_thinking(prompt: str) -> bool:
    """Tell whether the prompt ends with the tag that begins a thinking section."""
    return prompt.rstrip().endswith(tuple(_OPENINGS))


def without_thinking(text: str, reader: SourceReader, *, opened: bool) -> Words:
    """Drop the thinking sections of an answer.

    A closing tag without an opening one ends a section that began with the answer, since its
    opening tag was in the prompt. After other sections, it ends a section that mentioned the
    closing tag before; if nothing follows it, it is ignored. These tags are only mentions: an
    opening tag in the middle of a line that is never closed, a tag in quotes or in a code span, and
    a tag in a program. Inside a section, where missing the closing tag would lose the answer, a
    quoted tag is a mention only if the quotes or the span directly enclose it.

    Args:
        text: One answer.
        reader: Tells what is code, within its budget.
        opened: Whether the answer starts inside a section.
    """
    tags = _think_tags(text)
    if not tags:  # nearly always; the search for code blocks below takes time
        return Words(text="" if opened else text, unfinished=opened)
    partners = _partners(text, tags)
    last_closing = max((start for start, tag in tags if tag not in _OPENINGS), default=-1)
    last_fence = max(text.rfind(fence) for fence in _FENCES)
    kept: list[str] = []
    kept_from = sections = part = 0
    thinking, until = opened, partners.get(_PROMPT, 0)
    programs = _Programs(text, reader)
    programs.begin(0)
    for index, (position, tag) in enumerate(tags):
        end = position + len(tag)
        if programs.own(position, end):
            continue
        if _is_quoted(text, part, position, end, tightly=thinking):
            continue
        part = end
        if thinking:
            if tag in _OPENINGS or index < until:
                continue
            thinking, kept_from, sections = False, end, sections + 1
        elif tag in _OPENINGS:
            if position > last_closing and not _begins_line(text, kept_from, position):
                continue
            kept.append(text[kept_from:position])
            thinking, until = True, partners.get(index, 0)
        elif sections and not text[end:].strip():
            kept.append(text[kept_from:position])
            kept_from = end
        else:
            if last_fence >= end or not _have_fence(kept) or _is_program(text[end:], reader):
                kept.clear()
            kept_from = end
        programs.begin(end)
    if not thinking:
        kept.append(text[kept_from:])
    return Words(text="".join(kept), unfinished=thinking)


def _partners(text: str, tags: list[tuple[int, str]]) -> dict[int, int]:
    """Return the closing tag of each opening tag, both as indices of `tags`.

    `_PROMPT` stands for an opening tag in the prompt. A closing tag at the end of the text does not
    count, since an answer has to follow.
    """
    open_tags, partners, part = [_PROMPT], dict[int, int](), 0
    for index, (position, tag) in enumerate(tags):
        end = position + len(tag)
        if _is_quoted(text, part, position, end, tightly=True):
            continue
        part = end
        if tag in _OPENINGS:
            open_tags.append(index)
        elif open_tags and text[end : end + _MAX_LINE_CHARS].strip():
            partners[open_tags.pop()] = index
    return partners


def _think_tags(text: str) -> list[tuple[int, str]]:
    """Return the first thinking tags of `text`, and the last one, in order."""
    found = [(match.start(), match[0]) for match in islice(_THINK_TAG.finditer(text), MAX_TOKENS)]
    if len(found) == MAX_TOKENS:
        last, tag = max((text.rfind(tag), tag) for pair in _THINK_TAGS for tag in pair)
        if last > found[-1][0]:
            found.append((last, tag))
    return found


def _have_fence(pieces: list[str]) -> bool:
    return any(fence in piece for piece in pieces for fence in _FENCES)


def _begins_line(text: str, start: int, position: int) -> bool:
    return not text[max(start, text.rfind("\n", 0, position) + 1) : position].strip()


def _is_quoted(text: str, part: int, start: int, end: int, *, tightly: bool) -> bool:
    """Tell whether a tag is inside quotes or a code span in its line.

    Args:
        text: The whole text.
        part: End of the tag before, since a quote does not reach across a tag.
        start: Start of the tag.
        end: End of the tag.
        tightly: Whether the quotes or the span must directly enclose the tag.
    """
    before = text[max(part, start - _MAX_LINE_CHARS) : start].rpartition("\n")[2]
    after = text[end : end + _MAX_LINE_CHARS].partition("\n")[0]
    if tightly and not (before and after):
        return False
    if _is_in_span(before, after) and (not tightly or (before[-1], after[0]) == ("`", "`")):
        return True
    before, after = _APOSTROPHE.sub("", before), _APOSTROPHE.sub("", after)
    return any(
        _is_open(before, left, right)
        and (_is_open(after[::-1], right, left))
        and (not tightly or (before[-1:], after[:1]) == (left, right))
        for left, right in _QUOTES.items()
    )


def _is_open(line: str, left: str, right: str) -> bool:
    """Tell whether a part of a line opens a quote without closing it."""
    if left == right:
        return line.count(left) % 2 == 1
    return line.rfind(left) > line.rfind(right)


def _is_in_span(before: str, after: str) -> bool:
    """Tell whether a code span begins in a part of a line and ends in the next part."""
    opener = ""
    for run in _BACKTICKS.finditer(before):
        if not opener and run[0].startswith(_FENCES[0]) and not before[: run.start()].strip():
            continue  # a fence, which does not open a span
        if not opener:
            opener = run[0]
        elif run[0] == opener:
            opener = ""
    return bool(opener) and any(run[0] == opener for run in _BACKTICKS.finditer(after))
