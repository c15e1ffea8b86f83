"""Heuristics for poor responses: repetition, refusal, and lack of relevance.

All are pure, and linear in the number of words. They only match words, so they only adjust a score.
"""

import re
from collections import Counter

_WORD = re.compile(r"\w+(?:'\w+)?")
_READ_CHARS = 50_000
_GRAM = 4
_LEAST_GRAMS = 8
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am)(?: (?:really|very|so))? sorry,? (?:but )?(?:i )?"
    r"(?:can|could|am|will)(?:no|')?t"
    r"|i(?: am|'m) (?:unable|not able) to (?:help|assist|answer|provide|comply|do that)"
    r"|i (?:can(?:no|')t|cannot|won't|will not|must decline to)"
    r" (?:help|assist|answer|provide|comply|do that|fulfil|fulfill|discuss|engage)"
    r"|as an ai(?: language)? model,? i (?:can|do|am)(?:no|')?t?)\b",
    re.IGNORECASE,
)
_REFUSAL_CHARS = 400
"""A refusal comes early. Later, the same words may be a quotation."""
_COMMON = frozenset(
    """a an and are as at be but by can do does for from give had has have how i if in into is it
    its me my no not of on or our please so some such tell than that the their them then there
    these they this to us was we were what when where which who why will with would you your
    explain describe write list question answer""".split()
)


def words_of(text: str) -> list[str]:
    """Return the words of a text, case-folded."""
    return _WORD.findall(text[:_READ_CHARS].casefold())


def repetition(response: str) -> float:
    """Return the share of four-word sequences that are repeats, in [0, 1]; 0 for short texts."""
    words = words_of(response)
    grams = Counter(zip(*(words[start:] for start in range(_GRAM)), strict=False))
    total = grams.total()
    return 1 - len(grams) / total if total >= _LEAST_GRAMS else 0.0


def refusal(response: str) -> float:
    """Return 1 if a response begins with a refusal, else 0."""
    text = response.replace("\u2019", "'")[:_REFUSAL_CHARS]
    return float(_REFUSAL.search(text) is not None)


def relevance(question: str, response: str) -> float:
    """Return the share of the question's meaningful words that a response repeats, in [0, 1].

    Returns 1 if the question has none.
    """
    asked = {_stem(word) for word in words_of(question) if _is_meaningful(word)}
    if not asked:
        return 1.0
    said = {_stem(word) for word in words_of(response)}
    return len(asked & said) / len(asked)


def _is_meaningful(word: str) -> bool:
    return len(word) > 2 and word not in _COMMON


def _stem(word: str) -> str:
    """Cut the most common endings, so that "planets" matches "planet"."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending)
    return word
