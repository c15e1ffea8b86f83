"""Take the assistant's words out of a chat transcript, and its thinking out of its words.

A special token counts only outside closed code blocks: inside, it is the program's business.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from grader.extract.blocks import find_blocks, spans_of_closed
from grader.extract.source import Reader
from grader.extract.text import without_leading_tokens

MAX_TOKENS = 5000
"""Of each kind that are looked at; a text with more is no chat."""
_MAX_FENCED_TAGS = 4
"""Thinking sections behind which it is looked whether a tag stands in a code block."""

_ASSISTANT = frozenset({"assistant", "model", "chatbot", "gpt", "bot"})
_THINKING_CHANNELS = frozenset({"analysis", "commentary", "thinking"})

_HEADER = re.compile(
    r"<\|im_start\|>[ \t]*(\w{1,20})[^\n<]{0,40}\n?"
    r"|<\|start_header_id\|>[ \t]*(\w{1,20})[ \t]*<\|end_header_id\|>\n{0,2}"
    r"|<start_of_turn>[ \t]*(\w{1,20})\n?"
    r"|<\|(user|assistant|system|tool|observation)\|>\n?"
    r"|<\|START_OF_TURN_TOKEN\|><\|(\w{1,20})_TOKEN\|>"
    r"|<\|start\|>(\w{1,20})(?=<\||\s|$)"
    r"|<\|channel\|>(\w{1,20})[^\n<]{0,80}<\|message\|>"
    r"|<[|\uff5c](User|Assistant)[|\uff5c]>"
)
_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end_of_text|endoftext|end|return|call|eot|EOT"
    r"|END_OF_TURN_TOKEN)\|>|<end_of_turn>|<(?:/s|eos)>(?=\s|$|<)|<\uff5cend\u2581of\u2581sentence\uff5c>"
)
_INSTRUCTION = re.compile(r"\[/?INST\]")
_TOKEN_STARTS = (
    *("<|", "<\uff5c", "<start_of_turn>", "<end_of_turn>"),
    *("</s>", "<eos>", "[INST]", "[/INST]"),
)

_THINK_TAGS = tuple(
    (f"{left}{name}{right}", f"{left}{slash}{name}{right}")
    for left, slash, name, right in (
        ("<", "/", "think", ">"),
        ("<", "/", "thinking", ">"),
        ("<", "/", "thought", ">"),
        ("<", "/", "reasoning", ">"),
        ("[", "/", "THINK", "]"),
        ("◁", "/", "think", "▷"),
    )
)


_Owned = Callable[[int, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    start: int
    end: int
    role: str | None
    """Of the turn that the token begins; None where it ends one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What is left of an answer without its thinking."""

    text: str
    unfinished: bool
    """Whether the text ran out before a thinking section ended."""


def cut_at_end(code: str) -> str:
    """Return `code` up to the first end-of-turn token in it."""
    match = _END.search(code)
    return code[: match.start()] if match else code


# ---------------------------------------------------------------- turns


def assistant_turns(text: str, reader: Reader, *, answer_first: bool) -> list[str]:
    """Return the texts that may be the answer, the likeliest first.

    Text before any turn's header is the answer where the prompt was cut off it
    (`answer_first`), where no header follows or where the next turn is somebody else's: what
    comes then was made up by the model. Otherwise the text is a transcript, and the
    assistant's last turn counts; an earlier one only if the later ones hold no code.
    """
    text = without_leading_tokens(text)
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
    if leading.strip() and (answer_first or not roles or roles[0] not in _ASSISTANT):
        return [leading]
    turns.reverse()
    return [*turns, leading] if leading.strip() else turns


def _tokens(text: str, reader: Reader) -> list[_Token]:
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
    inside = _inside(spans_of_closed(find_blocks(text, reader)))
    return [found[start] for start in sorted(found) if not inside(start)]


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


def _inside(spans: list[tuple[int, int]]) -> Callable[[int], bool]:
    starts = [start for start, _ in spans]

    def inside(position: int) -> bool:
        index = bisect_right(starts, position) - 1
        return index >= 0 and position < spans[index][1]

    return inside


# ---------------------------------------------------------------- thinking


def opens_thinking(prompt: str) -> bool:
    """Tell whether the prompt ends with the tag that begins a thinking section."""
    return prompt.rstrip().endswith(tuple(opening for opening, _ in _THINK_TAGS))


def without_thinking(text: str, reader: Reader, *, opened: bool) -> Words:
    """Drop the thinking sections of an answer.

    A closing tag that nothing opened ends a section that began with the answer (its opening tag
    was in the prompt), or, after other sections, a section that mentioned the closing tag; with
    nothing behind it, it is a slip. A tag in quotes or backticks is a mention.

    Args:
        text: One answer.
        reader: Its budget is used for telling where code blocks end.
        opened: Whether the answer starts inside a section.
    """
    tags = _think_tags(text)
    if not tags:  # nearly always; what follows looks for code blocks
        return Words(text="" if opened else text, unfinished=opened)
    openings = {tag for tag, _ in _THINK_TAGS}
    kept: list[str] = []
    kept_from, nested, sections = 0, 0, 0
    thinking = opened
    owned = _nowhere if opened else _fences_from(text, 0, reader)
    for position, tag in tags:
        end = position + len(tag)
        if thinking and tag in openings:
            nested += 1
        elif thinking:
            thinking, kept_from, sections = False, end, sections + 1
            fenced = sections < _MAX_FENCED_TAGS
            owned = _fences_from(text, end, reader) if fenced else _nowhere
        elif owned(position, tag):
            continue
        elif tag in openings:
            kept.append(text[kept_from:position])
            thinking, nested = True, 0
        elif sections and not nested and not text[end:].strip():
            kept.append(text[kept_from:position])
            kept_from = end
        else:
            kept_from, nested = end, max(0, nested - 1)
    if not thinking:
        kept.append(text[kept_from:])
    return Words(text="".join(kept), unfinished=thinking)


def _think_tags(text: str) -> list[tuple[int, str]]:
    """Return the thinking tags of `text` that are no mere mentions, in order."""
    found: list[tuple[int, str]] = []
    for tag in (tag for pair in _THINK_TAGS for tag in pair):
        position = text.find(tag)
        for _ in range(MAX_TOKENS):
            if position == -1:
                break
            if text[position - 1 : position] not in {"'", '"', "`"}:
                found.append((position, tag))
            position = text.find(tag, position + len(tag))
        else:
            last = text.rfind(tag)
            if last != -1:
                found.append((last, tag))
    return sorted(found)


def _closes_alone(text: str, position: int, tag: str) -> bool:
    """Tell whether a closing tag has a line to itself, which it rarely has in a program."""
    before = text[max(0, position - 200) : position].rpartition("\n")[2]
    after = text[position + len(tag) : position + len(tag) + 200].partition("\n")[0]
    return "/" in tag and not before.strip() and not after.strip()


def _fences_from(text: str, start: int, reader: Reader) -> _Owned:
    """Return the test whether the tag at a position belongs to a program in a code block.

    A closing tag alone on its line may stand in what only looks like a block, because a draft
    before it left a fence open: then the block does not parse.
    """
    rest = text[start:]
    blocks = [block for block in find_blocks(rest, reader) if block.closed]
    starts = [block.start for block in blocks]

    def owned(position: int, tag: str) -> bool:
        index = bisect_right(starts, position - start) - 1
        if index < 0 or position - start >= blocks[index].end:
            return False
        if not _closes_alone(text, position, tag):
            return True
        return reader.read(blocks[index].content(rest)).valid

    return owned


def _nowhere(_position: int, _tag: str) -> bool:
    return False
