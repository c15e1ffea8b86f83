"""Cleans the text of a completion, and removes the prompt from a query."""

import re

MIN_OVERLAP = 32
"""A left-truncated prompt is recognised by at least this many characters at the query's start."""
_MAX_OVERLAP_TRIES = 64
_MAX_JOINED_SURROGATES = 10_000
_BLANK_BEHIND_TOKEN = re.compile(r"(</?s>|<\|[a-z_]{1,30}\|>) ")
_LEADING_TOKENS = re.compile(
    r"(?:\s*(?:<s>|<bos>|<pad>|<unk>|\[PAD\]|<\|(?:begin_of_text|endoftext|pad|startoftext"
    r"|finetune_right_pad_id)\|>|<\uff5cbegin\u2581of\u2581sentence\uff5c>))+"
)


def encodable(text: str) -> str:
    """Join surrogate pairs and replace lone ones by "?", so that the text has a UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError:
        surrogates = len(text.encode(errors="surrogatepass")) - len(text.encode(errors="ignore"))
        if surrogates <= _MAX_JOINED_SURROGATES * 3:  # bytes each
            units = text.encode("utf-16-le", "surrogatepass")
            text = units.decode("utf-16-le", "surrogatepass")
        return text.encode(errors="replace").decode()
    return text


def normalise(text: str) -> str:
    """Return `text` as Python would read it: newlines as line ends, no BOM, and encodable.

    NUL characters, which do not compile and are a tokenizer's padding, are removed.
    """
    if "\0" in text:
        text = text.replace("\0", "")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return encodable(text).removeprefix("\ufeff")


def without_leading_tokens(text: str) -> str:
    """Drop the begin-of-text and padding tokens that `text` starts with."""
    match = _LEADING_TOKENS.match(text)
    return text[match.end() :] if match else text


def _end_of_prompt(query: str, prompt: str) -> int | None:
    """Return the end of the prompt that a query starts with; None if it does not start so.

    Blanks after special tokens are ignored: tokenizers such as Llama's turn "<s>[INST]" into
    "<s> [INST]" in every query that they decode.
    """
    prompt = _BLANK_BEHIND_TOKEN.sub(r"\1", prompt)
    at = done = 0
    for blank in _BLANK_BEHIND_TOKEN.finditer(query):
        chunk = query[at : blank.end() - 1]
        if len(chunk) > len(prompt) - done:
            break
        if not prompt.startswith(chunk, done):
            return None
        at, done = blank.end(), done + len(chunk)
    rest = prompt[done:]
    return at + len(rest) if query.startswith(rest, at) else None


def after_prompt(query: str, prompt: str) -> str | None:
    """Return what follows the prompt at the start of `query`; None if it does not start with it.

    A prompt that the answer repeats further down is part of the answer. If the prompt was truncated
    on its left, the query starts with its end; at least `MIN_OVERLAP` characters must be left.
    """
    if not prompt.strip():
        return None
    if query.startswith(prompt):
        return query[len(prompt) :]
    query = without_leading_tokens(query).lstrip()
    prompt = without_leading_tokens(prompt).lstrip()
    if prompt and (end := _end_of_prompt(query, prompt)) is not None:
        return query[end:]
    probe = query[:MIN_OVERLAP]
    if len(probe) < MIN_OVERLAP:
        return None
    start = prompt.find(probe)
    # The number of tries is bounded so that a prompt of one repeated character stays cheap.
    for _ in range(_MAX_OVERLAP_TRIES):
        if start == -1:
            return None
        if query.startswith(prompt[start:]):
            rest = query[len(prompt) - start :]
            # A text that is only the prompt's end is an answer that repeats it.
            return rest if rest.strip() else None
        start = prompt.find(probe, start + 1)
    return None
