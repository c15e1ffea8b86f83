"""Terms of the reward for the length and the format of a response. All pure."""

import re
from typing import assert_never

from grader.config.rewards import ResponseFormat

_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{")
_THINK = re.compile(r"\s*<think>(?:(?!</?think>).)*</think>(.*)", re.DOTALL)
_LOOKED_AT_CHARS = 200_000


def length_term(response: str, free_chars: int) -> float:
    """Return 0 up to `free_chars` characters, -1 from twice as many on, linear in between."""
    return -min(1.0, max(0.0, len(response) / free_chars - 1))


def format_term(response: str, wanted: ResponseFormat, *, opened: bool = False) -> float:
    """Return 1 if a response has the wanted format, else 0.

    Args:
        response: The whole output of the model.
        wanted: The format.
        opened: Whether the prompt opened a thinking section.
    """
    text = response[:_LOOKED_AT_CHARS]
    match wanted:
        case ResponseFormat.FENCED:
            return float(len(_FENCE.findall(text)) == 2)
        case ResponseFormat.BOXED:
            return float(len(_BOX.findall(text)) == 1)
        case ResponseFormat.THINK:
            match = _THINK.fullmatch(f"<think>{text}" if opened else text)
            answer = match[1] if match else ""
            return float(bool(answer.strip()) and "think>" not in answer)
        case _ as unknown:
            assert_never(unknown)
