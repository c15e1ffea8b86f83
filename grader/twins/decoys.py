"""Decoys: other literals in the style of one that a suite has.

A reader must not be able to tell a decoy from the original. So a decoy has the form, the length and
the roundness of the literal that it replaces, or is a literal that the suite expects elsewhere.
`grader.twins.values.apart` tells whether a decoy is certainly unequal.
"""

import ast
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from grader.source.syntax import UNPARSABLE, parse

_TOKEN = re.compile(
    r"""(?P<prefix>[bB]?)(?P<quote>'''|\"\"\"|'|\")(?P<body>(?:\\.|(?!(?P=quote)).)*)(?P=quote)""",
    re.S,
)
_WORD = re.compile(r"[A-Za-z]{2,}")
_ESCAPE = re.compile(r"\\(?:\r\n|x..|u....|U........|N\{[^}]*\}|[0-7]{1,3}|.)", re.S)
USUAL_TYPES = "int float str list dict tuple set".split()
_VOWELS, _CONSONANTS = "aeiou", "bcdfghklmnprstw"
_MAX_KEPT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The literals that a suite expects, from which decoys are taken."""

    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The literals as written, by kind."""
    words: tuple[str, ...] = ()
    """The words in expected texts."""
    nearby: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The literals of the same assertion by kind, since results are often made of inputs."""

    def like(self, kind: str, rng: Random, count: int) -> list[str]:
        """Return at most `count` literals of a kind in random order, nearby ones first."""
        near, known = self.nearby.get(kind, ()), self.texts.get(kind, ())
        found = rng.sample(near, min(count, len(near)))
        return found + rng.sample(known, min(count - len(found), len(known)))

    def near(self, expressions: Iterable[tuple[ast.expr, str]]) -> "Pool":
        """Return this pool with the literals in `expressions` as nearby ones."""
        return replace(self, nearby=pool_of(expressions).texts)


def pool_of(expressions: Iterable[tuple[ast.expr, str]], exceptions: Iterable[str] = ()) -> Pool:
    """Collect literals with their texts, and the names of exceptions."""
    texts: dict[str, dict[str, None]] = {"exception": dict.fromkeys(exceptions)}
    words: dict[str, None] = {}
    for node, text in expressions:
        kind = kind_of(node)
        if kind is None or "\n" in text or "\r" in text:
            continue
        known = texts.setdefault(kind, {})
        if len(known) < _MAX_KEPT:
            known[text] = None
        if kind == "str" and len(words) < _MAX_KEPT:
            words.update(dict.fromkeys(_WORD.findall(str(_constant(node)))))
    return Pool(texts={kind: tuple(known) for kind, known in texts.items()}, words=tuple(words))


def kind_of(node: ast.expr) -> str | None:
    """Return the kind of a literal, or None if the expression is not a literal."""
    match node:
        case ast.Constant(value=value):
            return type(value).__name__
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return None if isinstance(value, bool) else type(value).__name__
        case ast.List() | ast.Tuple() | ast.Set() | ast.Dict() | ast.Name():
            return type(node).__name__.lower()
        case ast.Attribute(value=ast.Name(id=name)):
            return f"{name}."
        case _:
            return None


def decoys(node: ast.expr, text: str, pool: Pool, rng: Random) -> Iterator[str]:
    """Yield texts that may replace a literal, the likeliest first.

    Args:
        node: The literal.
        text: The literal as written.
        pool: The literals that the suite expects.
        rng: Decides on the texts and their order.
    """
    value = _constant(node)
    match value:
        case bool():
            yield str(not value)
        case int():
            yield from _mixed(rng, _ints(value, text, rng), pool, "int")
        case float():
            yield from _mixed(rng, _floats(value, text, rng), pool, "float")
        case complex():
            yield from _edited_number(text, rng)
        case str() | bytes():
            yield from _texts(value, text, pool, rng)
        case None if isinstance(node, ast.Name | ast.Attribute):
            if text in USUAL_TYPES:
                yield from rng.sample(USUAL_TYPES, len(USUAL_TYPES))
            yield from pool.like(kind_of(node) or "", rng, 3)
        case None if isinstance(node, ast.Constant):
            # Not 0, since an object may stand for nothing and equal whatever is false.
            yield from (text for text in pool.like("int", rng, 3) if text != "0")
            yield from rng.sample(["1", "2", "True"], 3)
        case _:
            yield from _filled(node, pool, rng)


def _mixed(rng: Random, own: Iterator[str], pool: Pool, kind: str) -> Iterator[str]:
    """Yield made texts and borrowed ones, in random order."""
    likely_own = 0.2 if pool.nearby.get(kind) else 0.6
    for other in pool.like(kind, rng, 4):
        while rng.random() < likely_own and (made := next(own, None)) is not None:
            yield made
        yield other
    yield from own


def _constant(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case _:
            return None


# ---------------------------------------------------------------- numbers


def _ints(value: int, text: str, rng: Random) -> Iterator[str]:
    """Yield integers that are near and equally round."""
    size = abs(value)
    digits = str(size) if size < 10**300 else ""
    zeros = len(digits) - len(digits.rstrip("0")) if size else 0
    for _ in range(24):
        unit = 10**zeros if rng.random() < 0.8 else 1
        step = rng.choice([1, 1, 1, 2, 2, 3, 4, 5]) * unit
        if size >= 100 and not zeros and digits and rng.random() < 0.5:
            step = rng.choice([1, 2, 3]) * 10 ** rng.randrange(len(digits))
        near = size + rng.choice([step, -step])
        if near < 0 or (near == 0 and not 0 < value < 10):
            near = size + step
        yield _written(near if value >= 0 else -near, text)


def steps_from(value: int, text: str) -> Iterator[str]:
    """Yield integers that differ by more than half, and not by a multiple of a small number."""
    sizes = (n for n in itertools.count(1 + abs(value) // 2) if math.gcd(n, 2 * 3 * 5 * 7) == 1)
    for size in itertools.islice(sizes, 6):
        yield from (_written(value + step, text) for step in (size, -size))


def starts_from(text: str, rng: Random) -> Iterator[str]:
    """Yield texts whose first letter or digit is another."""
    match = next(_matches(re.compile(r"[A-Za-z0-9]"), text), None)
    if match is None:
        return
    for new in rng.sample("123456789" if match[0].isdigit() else _CONSONANTS, 7):
        if new != match[0].lower():
            new = new.upper() if match[0].isupper() else new
            yield text[: match.start()] + new + text[match.end() :]


def _written(value: int, like: str) -> str:
    """Return an integer in the notation of another."""
    sign, body = ("-" if value < 0 else ""), like.lstrip("+- \t")
    size = abs(value)
    match body[:2].lower():
        case "0x":
            made = format(size, "X" if any(c in "ABCDEF" for c in body[2:]) else "x")
        case "0o":
            made = format(size, "o")
        case "0b":
            made = format(size, "b")
        case _:
            return sign + (f"{size:_}" if "_" in body else str(size))
    return sign + body[:2] + made.rjust(len(body) - 2, "0")


def _floats(value: float, text: str, rng: Random) -> Iterator[str]:
    """Yield floats that differ in a leading digit and have the same number of digits."""
    if value == 0:
        yield from rng.sample([_filled_digits(text, d) for d in "12345"], 5)
        return
    yield from _edited_number(text, rng)
    if abs(value) < 1e-4:
        yield from (f"{value * 10**power!r}" for power in (2, 3, 4))


def _filled_digits(text: str, digit: str) -> str:
    """Return the text of a zero with a digit before the point; if nothing was there, after it."""
    head, dot, tail = text.partition(".")
    return digit + dot + tail if head.strip("+-0_") == "" and head else head + dot + digit


def _edited_number(text: str, rng: Random) -> Iterator[str]:
    """Yield a number with one of its first two significant digits replaced."""
    mantissa = re.split(r"[eEjJ]", text, maxsplit=1)[0]
    places = [m.start() for m in re.finditer(r"[0-9]", mantissa)]
    leading = next((i for i, at in enumerate(places) if text[at] != "0"), 0)
    first = places[leading : leading + 2]
    whole = len(re.match(r"[-+\s]*[0-9_]*", mantissa)[0]) if mantissa else 0  # type: ignore[index]
    for _ in range(12):
        at = rng.choice(first[:1] if rng.random() < 0.6 else first)
        keep_nonzero = at == places[leading] and at < whole
        digit = rng.choice("123456789" if keep_nonzero else "0123456789")
        if abs(int(digit) - int(text[at])) > 3 and rng.random() < 0.5:
            continue
        if digit != text[at]:
            yield text[:at] + digit + text[at + 1 :]


# ---------------------------------------------------------------- texts


def _texts(value: str | bytes, text: str, pool: Pool, rng: Random) -> Iterator[str]:
    borrowed = list(_borrowed(value, text, pool, rng))
    worded = list(_reworded(text, pool, rng))
    first, second = (borrowed, worded) if rng.random() < 0.5 else (worded, borrowed)
    yield from [*first, *second]
    yield from _respelt(text, rng)
    if not value:
        yield from (f"{text[:-1]}{c}{text[-1:]}" for c in rng.sample("abcx01", 6) if len(text) < 5)


def _borrowed(value: str | bytes, text: str, pool: Pool, rng: Random) -> Iterator[str]:
    """Yield texts that the suite expects elsewhere, in the quotes of this text."""
    token = _TOKEN.fullmatch(text)
    if token is None or len(token["quote"]) != 1:
        return
    quote = token["quote"]
    for other in pool.like(type(value).__name__, rng, 6):
        found = _TOKEN.fullmatch(other)
        if found is None or len(found["quote"]) != 1 or found["prefix"] != token["prefix"]:
            continue
        body = found["body"]
        sizes = len(body) + 2, len(token["body"]) + 2
        if quote in body or body == token["body"] or max(sizes) > 3 * min(sizes):
            continue
        yield f"{token['prefix']}{quote}{body}{quote}"


def _reworded(text: str, pool: Pool, rng: Random) -> Iterator[str]:
    """Yield the text with one word replaced by another word of the suite."""
    found = [match for match in _matches(_WORD, text) if not _ESCAPE.match(match[0])]
    for match in rng.sample(found, min(3, len(found))):
        word = match[0]
        others = [w for w in pool.words if w.lower() != word.lower() and _case(w) == _case(word)]
        others = [w for w in others if 2 * min(len(w), len(word)) >= max(len(w), len(word))]
        if others and len(found) > 1:
            yield text[: match.start()] + rng.choice(others) + text[match.end() :]


def _respelt(text: str, rng: Random) -> Iterator[str]:
    """Yield the text with one character replaced by another of the same kind."""
    for attempt in range(24):
        pattern = re.compile(r"[0-9]" if attempt % 3 == 0 else r"[A-Za-z]")
        found = list(_matches(pattern, text))
        if not found:
            found = list(_matches(re.compile(r"[^\w\s\\'\"]"), text))
        if not found:
            continue
        match = rng.choice(found)
        old = match[0]
        new = _other_character(old, found, rng)
        if new != old:
            yield text[: match.start()] + new + text[match.end() :]


def _other_character(old: str, found: list[re.Match[str]], rng: Random) -> str:
    if old.isdigit():
        return rng.choice("123456789")
    if old.isalpha():
        in_word = {match[0].lower() for match in found}
        near = _VOWELS if old.lower() in _VOWELS else _CONSONANTS
        options = [c for c in near if c in in_word and c != old.lower()] or list(near)
        new = rng.choice(options)
        return new.upper() if old.isupper() else new
    others = [match[0] for match in found if match[0] != old]
    return rng.choice(others) if others else {"(": ")", "[": "]", "{": "}"}.get(old, "#")


def _case(word: str) -> str:
    return "upper" if word.isupper() else "title" if word[:1].isupper() else "lower"


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield matches inside the quotes of a text's tokens, but not inside escapes."""
    for token in _TOKEN.finditer(text):
        start, end = token.span("body")
        if "r" in token["prefix"].lower():
            continue
        escapes = [match.span() for match in _ESCAPE.finditer(text, start, end)]
        for match in pattern.finditer(text, start, end):
            if not any(a < match.end() and match.start() < b for a, b in escapes):
                yield match


# ---------------------------------------------------------------- displays


def _filled(node: ast.expr, pool: Pool, rng: Random) -> Iterator[str]:
    """Yield displays with items, to replace an empty one."""
    kind = kind_of(node) or ""
    for text in pool.like(kind, rng, 4):
        if 2 < len(text) < 40 and not _has_names(text):
            yield text
    items = [*pool.like("int", rng, 1), *pool.like("str", rng, 1), "0", "1", "2"]
    item = rng.choice(items)
    match node:
        case ast.List():
            yield f"[{item}]"
        case ast.Tuple():
            yield f"({item},)"
        case ast.Dict():
            yield f"{{{item}: {rng.choice(items)}}}"
        case _:
            pass


def _has_names(text: str) -> bool:
    """Tell whether an expression has names, which may mean nothing elsewhere in the suite."""
    tree = parsed(text)
    return tree is None or any(isinstance(node, ast.Name) for node in ast.walk(tree))


def parsed(text: str) -> ast.expr | None:
    """Return the tree of an expression; None if the text is not one expression."""
    try:
        tree = parse(f"(\n{text}\n)")
    except UNPARSABLE:
        return None
    match tree.body:
        case [ast.Expr(value=value)]:
            return value
        case _:
            return None
