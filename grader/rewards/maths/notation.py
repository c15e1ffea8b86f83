"""Normalising the notation of answers, and splitting them at brackets. Pure."""

import re

from grader.rewards.maths.units import NO_UNIT

DOTS = "\\ldots"
"""Stands for omitted terms of a list or a sum."""

_MAX_DEPTH = 4

_REPLACED = (
    ("\\dfrac", "\\frac"), ("\\tfrac", "\\frac"), ("\\cfrac", "\\frac"), ("\u2212", "-"),
    ("\u2013", "-"), ("\u00d7", "\\times "), ("\u00b7", "\\cdot "), ("\u2044", "/"),
    ("\u221e", "\\infty "), ("\u222a", "\\cup "), ("\u221a", "\\sqrt "),
    ("\u2264", "\\le "), ("\u2265", "\\ge "), ("\u00b1", "\\pm "), ("\u2260", "\\ne "),
    ("\u2248", "\\approx "), ("\\simeq", "\\approx"), ("\\leqslant", "\\le"),
    ("\\geqslant", "\\ge"), ("\\leq", "\\le"), ("\\geq", "\\ge"), ("<=", "\\le "),
    (">=", "\\ge "), ("\\lt ", "<"), ("\\gt ", ">"), ("\\neq", "\\ne"),
    ("^\\circ", " degrees"), ("^{\\circ}", " degrees"), ("\u00b0", " degrees"),
    ("\\degree", " degrees"), ("\\%", "%"), ("\\$", "$"), ("{,}", ","), ("\\lbrace", "\\{"),
    ("\\rbrace", "\\}"), ("\\langle", "("), ("\\rangle", ")"), ("\\lbrack", "["),
    ("\\rbrack", "]"), ("\\cdotp", "\\cdot"), ("\\varnothing", "\\emptyset"),
    ("\u2205", "\\emptyset"), ("\u00bd", " 1/2"), ("\u00bc", " 1/4"), ("\u00be", " 3/4"),
    ("\u00a0", " "), ("\u202f", " "), ("\u2009", " "), ("\\div", "/"), ("\\colon", ":"),
    ("\\_", "_"), ("\\backslash", "\\setminus "), ("\u2216", "\\setminus "), ("\u2208", "\\in "),
    ("\u2229", "\\cap "), ("\u211d", "\\mathbb{R}"), ("\u2124", "\\mathbb{Z}"),
    ("\u2115", "\\mathbb{N}"), ("\u211a", "\\mathbb{Q}"), ("\u2153", " 1/3"), ("\u2154", " 2/3"),
    ("\u2261", "\\equiv "), ("\u3002", "."), ("\u3001", ", "), ("\u2032", "'"), ("\u2033", "''"),
    ("\u2126", "\u03a9"),
)  # fmt: skip
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau"
        " phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega".split(),
        strict=True,
    )
)
_GREEK_LETTERS = str.maketrans({letter: f"\\{name} " for letter, name in _GREEK.items()})
_CHARACTERS: dict[int, int | None] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **dict.fromkeys((*range(0x200B, 0x2010), *range(0x202A, 0x202F), 0x2060, 0xFEFF)),
}
"""Full-width characters as ASCII, and those without width, which are removed."""
_SUBSCRIPTS = {0x2080 + digit: str(digit) for digit in range(10)}
_SUBSCRIPT = re.compile(r"[\u2080-\u2089]+")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUPERSCRIPT = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
_NOT_EQUAL = re.compile(r"\\not\s*=|(?:^|(?<=\s))!=")
_NEGATED = re.compile(r"\\not\s*\\(?=[a-z])")
_DOTS = re.compile(r"\\[lc]?dots[bcmio]?(?![a-zA-Z])|\.{3,}|\u2026")
_TEXT_COMMANDS = r"\\(?:text(?:bf|it|rm|sf|normal)?|math(?:rm|bf|it|sf)|mbox|operatorname|bf|rm)"
_REMOVED = re.compile(
    r"\\(?:left|right|[bB]igg?[lr]?|displaystyle|textstyle|limits|tiny|small|normalsize"
    r"|[lL]arge|LARGE|[hH]uge|boldsymbol|bm|underline|f?boxed|fbox)(?![a-zA-Z])"
    r"|\\(?:text)?color\s*\{[^{}]*\}|(?<!\\)\\[!()\[\]]|\$"
)
_SPACE = re.compile(
    r"(?<!\\)\\[,;: ]|\\q?quad(?![a-zA-Z])|~|\\(?:hspace\*?|[hv]?phantom)\s*\{[^{}]*\}"
)
_TEMPERATURE = re.compile(rf" degrees\s*(?:{_TEXT_COMMANDS}\s*\{{)?\s*([CF])\b\s*\}}?")
_SCALES = {"C": "celsius", "F": "fahrenheit"}
_TEXT = re.compile(rf"{_TEXT_COMMANDS}\s*\{{([^{{}}]*)\}}")
_HTML = re.compile(r"<(b|i|u|strong|em|p)>(.*?)</\1>", re.DOTALL)
_IN_WORDS = re.compile(r"(?<=\d)\s+\([a-z][a-z -]+\)$")
"""A number again in words: "5 (five)"."""
_MICRO = re.compile(
    r"(?<=[\d\s}{~,])(?:\u00b5|\u03bc|\\mu(?![a-zA-Z]))\s*(\\(?:text|mathrm)\s*\{\s*)?"
    r"(?=(?:mol|[mgsAVFWLlCJNTH])(?![a-zA-Z]))"
)
_OHM = re.compile(r"(?<=[\s}~,])([kM]?)(?:\u03a9|\\Omega(?![a-zA-Z]))\s*$")
_UNIT_SPACE = re.compile(r"(?<=[a-zA-Z\d}])\s*(?:\\[,;: ]|\\cdot(?![a-zA-Z])|~)\s*(?=[a-zA-Z])")
_IN_TEXT = re.compile(rf"({_TEXT_COMMANDS}\s*\{{)((?:[^{{}}]|\^\{{-?\d\}})*)\}}")
_POWER = re.compile(r"\^\{(-?\d)\}")
_MODULUS = re.compile(
    r"\s*\(?\s*(?:\\p?mod|\\bmod|(?<![a-zA-Z\\])mod)(?![a-zA-Z])\s*(?:\{\s*(\d+)\s*\}|(\d+))\s*\)?$"
)
_ARC = re.compile(
    r" degrees\s*(\d+)\s*(?:'|\^\s*\{?\\prime\}?)(?!'|\^?\\prime)"
    r"(?:\s*(\d+(?:\.\d+)?)\s*(?:''|\"|\^\s*\{?\\prime\s*\\prime\}?))?"
)
"""Minutes and seconds of an angle."""
_UNIT = re.compile(
    rf"(?<=[^\s,;=])\s*{_TEXT_COMMANDS}\s*\{{\s*(?!(?:[apAP]\.?\s*[mM]\.?|[eid])\s*\}}"
    rf"|[^{{}}]*{NO_UNIT})"
    r"([a-zA-Z](?:[a-zA-Z ./-]|\^-?\d|\^\{-?\d\})*?)\s*\}\s*(\^\s*(?:-?\d|\{\s*-?\d\s*\}))?"
    r"(?=\s*(?:[.,;)\]]|\\\}|\\\\|\\cup|\\text|\$|$))"
)
_CHOOSE = re.compile(r"\{([^{}]*)\\choose(?![a-zA-Z])([^{}]*)\}")
_SYSTEM = re.compile(
    r"(?P<brace>(?:\\left\s*)?\\\{\s*)?\\begin\{(?P<kind>cases|aligned|align|gathered|split|array)(?P<star>\*?)\}"
    r"(?:\{[lcr|\s]*\})?(?P<rows>.*?)\\end\{(?P=kind)(?P=star)\}(?(brace)(?:\s*\\right\s*\.)?)",
    re.DOTALL,
)
_ROW_END = re.compile(r"\\\\(?:\[[^\]]*\])?")
_ROW_BREAK = re.compile(
    r"(?:\\\\\s*)*\\\\\s*\[\s*-?[\d.]+\s*(?:pt|em|ex|mm|cm)\s*\]|\\\\\s*(?:\\\\\s*)+|\\cr(?![a-zA-Z])"
)
"""The end of a row with its distance, one more than once, and that of plain TeX."""
_LETTER = re.compile(
    r"(\\(?:math(?:bf|bb|it|sf|cal)|boldsymbol|bm|hat|vec|bar|tilde|dot|overline))\s+([a-zA-Z])(?![a-zA-Z])"
)
"""A font or an accent of one letter without braces."""
_BASE_IN_BRACKETS = re.compile(r"_\{\s*\((\d+)\)\s*\}")
_PER = re.compile(rf"({_TEXT_COMMANDS}\s*\{{[a-zA-Z ]+)\}}\s*/\s*{_TEXT_COMMANDS}\s*\{{")
"""Between two units in text mode of their own."""
_BASE = re.compile(r"(\d)\s*\(?\s*(?:in )?base (\w+)\s*\)?$")
_SYMBOL = rf"\\(?:{'|'.join(_GREEK.values())}|infty)(?![a-zA-Z])"
_ABOVE = re.compile(rf"\\frac\s*({_SYMBOL})")
_BELOW = re.compile(rf"(\\frac\s*(?:\{{[^{{}}]*\}}|\d))\s*({_SYMBOL})")
_CONDITION = re.compile(r"(?<=\S)[\s,]*\(([a-zA-Z]\s*\\in(?![a-zA-Z])[^()]*)\)$")
_PREAMBLE = re.compile(
    r"^(?:the\s+)?(?:final\s+)?answer\s*(?:\bis\b|:)[\s:]*|^(?:approximately|approx\.?|about|roughly)\s+"
    r"|^the [a-z ]{2,60} (?:is|are|equals)\s+(?=[-+]?[\d.$\\(\[])"
    r"|^(?:for\s+)?all\s+(?=[a-zA-Z]\s*(?:[<>]|\\(?:le|ge|ne|in)\b))",
    re.IGNORECASE,
)
_LG = re.compile(r"\\lg(?![a-zA-Z])")
_EMOJI = r"\u2190-\u21ff\u2600-\u27bf\ufe0f\U0001f000-\U0001faff"
_END = re.compile(rf"(?:[\s.,;:*_`{_EMOJI}]|\\(?:\[[\d.]+ ?[a-z]{{2}}\])?)+$")
"""Also emojis, and what is left of `\\ ` at the end of a text whose blanks were removed."""


def clean(text: str) -> str:
    r"""Return an answer without meaningless markup, and in a normal spelling.

    Words in text mode after a value become `\unit{...}`, because they are not variables.
    """
    text = _HTML.sub(r"\2", text.translate(_CHARACTERS))
    text = _SUBSCRIPT.sub(lambda m: "_{" + m[0].translate(_SUBSCRIPTS) + "}", text)
    text = _OHM.sub(r"\1ohm", _MICRO.sub(lambda m: f"{m[1] or ''}u", text))
    text = _SUPERSCRIPT.sub(lambda m: "^{" + m[0].translate(_SUPERSCRIPTS) + "}", text)
    text = _NEGATED.sub(r"\\n", _NOT_EQUAL.sub(r"\\ne ", text))
    text = _DOTS.sub(lambda _: f"{DOTS} ", text)
    text = _LETTER.sub(r"\1{\2}", _ROW_BREAK.sub(r"\\\\ ", text))
    for old, new in _REPLACED:
        text = text.replace(old, new)
    text = _LG.sub(r"\\log", text.translate(_GREEK_LETTERS))
    text = _BELOW.sub(r"\1{\2}", _ABOVE.sub(r"\\frac{\1}", text))
    text = _SYSTEM.sub(_rows, text)
    text = _CHOOSE.sub(r"\\binom{\1}{\2}", text)
    text = _TEMPERATURE.sub(lambda m: f" \\unit{{{_SCALES[m[1]]}}}", text)
    text = _BASE_IN_BRACKETS.sub(r"_{\1}", _PER.sub(r"\1/", text))
    text = _ARC.sub(
        lambda m: f" degrees {m[1]} arcminutes" + (f" {m[2]} arcseconds" if m[2] else ""), text
    )
    text = _IN_TEXT.sub(lambda m: m[1] + _POWER.sub(r"^\1", _UNIT_SPACE.sub(" ", m[2])) + "}", text)
    text = _UNIT.sub(lambda m: f" \\unit{{{m[1]}{m[2] or ''}}}", text)
    for _ in range(_MAX_DEPTH):
        text, count = _TEXT.subn(r" \1 ", text)
        if not count:
            break
    text = " ".join(_SPACE.sub(" ", _REMOVED.sub("", text)).split())
    text = text if text.endswith(DOTS) else _END.sub("", text)
    text = _IN_WORDS.sub("", text)
    text = _MODULUS.sub(lambda m: f" \\pmod{{{m[1] or m[2]}}}", text)
    text = _CONDITION.sub(r", \1", _BASE.sub(r"\1_{\2}", text))
    return _PREAMBLE.sub("", text.lstrip(" ,;:*_`"))


def _rows(system: re.Match[str]) -> str:
    """Return a system of equations as a list; a matrix or a function by cases as it is."""
    rows = system["rows"]
    if {"cases": "&" in rows, "array": not system["brace"]}.get(system["kind"]):
        return system[0]
    parts = (row.replace("&", "").strip(" \t\n,;.") for row in _ROW_END.split(rows))
    return ", ".join(part for part in parts if part)


def balanced(text: str) -> bool:
    """Return whether every bracket in a text is closed by a bracket of any kind."""
    depth = 0
    for char in text:
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth < 0:
                return False
    return depth == 0


def split_at(text: str, separator: re.Pattern[str]) -> list[str]:
    """Split a text at separators outside of brackets."""
    parts: list[str] = []
    start = 0
    for match in separator.finditer(text):
        part = text[start : max(start, match.start())]
        if match.start() >= start and match[0] and balanced(part):
            parts.append(part.strip())
            start = match.end()
    parts.append(text[start:].strip())
    return parts


def unwrapped(text: str, opening: str, closing: str) -> str | None:
    """Return the text inside a pair of brackets around the whole; None if there is no such pair."""
    if len(text) < len(opening) + len(closing):
        return None
    if not (text.startswith(opening) and text.endswith(closing)):
        return None
    inner = text[len(opening) : -len(closing)]
    return inner.strip() if balanced(inner) else None
