"""Where the model's next turn begins, by chat template. All pure.

What a trainer sampled stays as it is, token by token; a template only says which text comes
between one answer of the model and its next. Text that a program printed cannot end a turn in
it: what could be read as a special token is broken up.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from grader.config.rewards import ChatTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """One template."""

    ends: tuple[str, ...]
    """What may end the model's turn; the first is what is added where the turn has no end."""
    before: str
    """From the end of the model's turn to the user's words."""
    after: str
    """From the user's words to the model's next."""
    marks: tuple[str, ...]
    """What a conversation in this template holds."""


TEMPLATES: Mapping[ChatTemplate, Turns] = MappingProxyType(
    {
        ChatTemplate.LLAMA2: Turns(
            ends=("</s>",),
            before="<s>[INST] ",
            after=" [/INST]",
            marks=("[/INST]",),
        ),
        ChatTemplate.CHATML: Turns(
            ends=("<|im_end|>", "<|endoftext|>"),
            before="\n<|im_start|>user\n",
            after="<|im_end|>\n<|im_start|>assistant\n",
            marks=("<|im_start|>",),
        ),
        ChatTemplate.LLAMA3: Turns(
            ends=("<|eot_id|>", "<|end_of_text|>", "<|eom_id|>"),
            before="<|start_header_id|>user<|end_header_id|>\n\n",
            after="<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
            marks=("<|start_header_id|>",),
        ),
        ChatTemplate.PLAIN: Turns(ends=(), before="\n\n", after="\n\nAssistant: ", marks=()),
    }
)

_SPECIAL = re.compile(
    r"<(?=\||\uff5c|<?/?(?:s|unk|pad|bos|eos|mask|cls|sep|sys|eot|pre|suf|mid|fill_me|endoftext"
    r"|(?:start|end)_of_turn|(?:fim|file|repo|issue|jupyter|commit)_\w{1,20}|think|tool_\w{1,20})>)"
    r"|(?-i:\[(?=/?[A-Z]{3,}(?:_[A-Z]+)*\]))",
    re.IGNORECASE,
)
"""Of Llama, CodeLlama and its infilling, ChatML, Mistral, Gemma, StarCoder, DeepSeek and others."""


def template_of(conversation: str) -> ChatTemplate:
    """Return the template that a conversation is written in, by the last mark in it."""
    found = [
        (conversation.rfind(mark), template)
        for template, turns in TEMPLATES.items()
        for mark in turns.marks
    ]
    position, template = max(found, key=lambda pair: pair[0])
    return template if position >= 0 else ChatTemplate.PLAIN


_OPENED = re.compile(r"<think(?:ing)?>\s*\Z")


def next_turn(words: str, *, answer: str, template: ChatTemplate, prompt: str = "") -> str:
    """Return the text between an answer of the model and its next.

    Args:
        words: What the user's turn says; nothing in it is taken for a token of the template.
        answer: The model's, as sampled; its end token is added only where it has none.
        template: Not `AUTO`.
        prompt: That of the first turn; where it opens a thinking section for the model, so does
            every other.
    """
    turns = TEMPLATES[template]
    ended = not turns.ends or answer.rstrip("\n").endswith(turns.ends)
    end = "" if ended else turns.ends[0]
    before = turns.before
    if answer.endswith("\n") and before.startswith("\n") and ended and turns.ends:
        # The end token was sampled with the newline that follows it.
        before = before[1:]
    opened = _OPENED.search(prompt)
    return f"{end}{before}{defused(words)}{turns.after}{opened[0] if opened else ''}"


def defused(text: str) -> str:
    """Return a text in which nothing reads as a special token any more."""
    return _SPECIAL.sub(lambda match: match[0] + " ", text)
