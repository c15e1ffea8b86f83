"""Reads Perl's tests: calls of `is`, `ok` and `like`, and a loop over a table in JSON.

All statements that lead to values of the submission stay. Those that only make expected values are
in the other program alone.
"""

import json
import re
from collections.abc import Iterator
from typing import NoReturn

from grader.languages.language import driver_source
from grader.languages.reading_tests import (
    OPENING,
    Token,
    Tokens,
    close,
    refuse,
    require_short,
    split,
    texts_of,
)
from grader.model import ExpressionCase, ExpressionTests

_MOST_CHARS = 128 * 1024
_MOST_DEPTH = 40
_DELIMITED = (
    r"(?:<[^<>]*>|\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]"
    r"|(?P<one>[/!|~#\"'])(?:\\.|(?!(?P=one)).)*(?P=one))"
)
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*|^=[a-z].*?^=cut\b[^\n]*)|(?P<space>\s+)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'
        |(?:qw|qq|qr|q|m)\b(?!\s*=>)\s*"""
    + _DELIMITED
    + r"""[a-z]*
        |(?:tr|s|y)(?P<two>[/|!])(?:(?:\\.|(?!(?P=two)).)*(?P=two)){2}[a-z]*)
    |(?P<variable>[$@%&]\$*(?:\w+(?:::\w+)*|\{\w+\})|\$\#\$*\w+|\$[!@&/0-9]|[$@]\{)
    |(?P<word>[A-Za-z_]\w*(?:::\w+)*)|(?P<number>\d[\w.]*)
    |(?P<sign>=>|->|=~|!~|<=>|\*\*|\+\+|--|//|\|\||&&|::|[=!<>+*.&|/-]=
        |[-+*/%.<>=!~^&|?:,;(){}\[\]\\])""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_PATTERN = re.compile(r"/(?:\\.|[^/\\\n])*/[a-z]*")
_BEFORE_PATTERNS = frozenset({"(", ",", "=~", "!~", "split", "grep", "and", "or", "not", "{", ""})
_HERE = re.compile(
    r"<<(?P<indented>~?)(?:(?P<quote>[\"'])(?P<quoted>\w+)(?P=quote)|(?P<bare>[A-Z_]\w*))"
)
_IN_TEXTS = re.compile(r"(?<!\\)[$@]\{?(\w+)")
_PLAIN_PATTERN = re.compile(r"(?:[^\\^$.*+?()\[\]{}|@]|\\[^\w\s])+")
_PRAGMAS = frozenset({"strict", "warnings", "utf8", "feature", "experimental", "integer"})
_OF_TESTS = frozenset({"Test2::V0", "Test::More", "FindBin", "lib", "JSON::PP", "constant"})
_IDLE = frozenset({"done_testing", "plan", "imported_ok", "diag", "note"})
_PURE = frozenset(
    """
    undef join x map grep sort reverse split lc uc ucfirst lcfirst sprintf abs int length scalar
    and or not eq ne lt gt le ge cmp sub my return keys values
    """.split()
)
"""Words of Perl's own that an expected value may have."""
_DRIVER = driver_source("tests.pl")
_STAND_IN = driver_source("stand_in.pl")


_OPERATORS = frozenset(
    {"?", "==", "!=", "<", ">", "eq", "ne", "and", "or", "not", "//", "||", "&&", "=~", "!~"}
)
"""Operators that may make a verdict of a value."""


def read_tests(source: str, solution_path: str) -> ExpressionTests:
    """Read a file of Perl's tests; see `grader.languages.Language.exercises`.

    Raises:
        SuiteError: It asserts nothing, or has a statement that is not known.
    """
    require_short(source, _MOST_CHARS)
    source, _, data = source.partition("\n__DATA__\n")
    source = _without_documents(source.partition("\n__END__\n")[0])
    reader = _Reader(source, solution_path, data)
    try:
        reader.read(_tokens(source))
    except (IndexError, RecursionError):
        refuse("the tests end within a statement, or are too deep", source)
    return reader.tests()


def _tokens(source: str) -> list[Token]:
    found, at, depth = list[Token](), 0, 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if source[at] == "/" and (found[-1].text if found else "") in _BEFORE_PATTERNS:
            match = _PATTERN.match(source, at)
        if match is None:
            refuse("the tests are written in a way that is not known", source[at:])
        kind = match.lastgroup or "text"
        if kind not in ("comment", "space"):
            depth += (match[0] in ("(", "[", "{")) - (match[0] in (")", "]", "}"))
            depth += match[0] in ("${", "@{")
            if not 0 <= depth <= _MOST_DEPTH:
                refuse("brackets do not match, or are too deep", source[at:])
            found.append(Token(kind, match[0], at, match.end()))
        at = match.end()
    return found


def _without_documents(source: str) -> str:
    """Return source with a text in quotes in place of each here-document."""
    while True:
        found = next(
            (
                here
                for here in _HERE.finditer(source)
                if source.count("#", source.rfind("\n", 0, here.start()) + 1, here.start()) == 0
            ),
            None,
        )
        if found is None:
            return source
        name = found["quoted"] or found["bare"]
        line = source.find("\n", found.end()) + 1
        end = re.compile(rf"^[ \t]*{name}$" if found["indented"] else rf"^{name}$", re.MULTILINE)
        closed = end.search(source, line) if line else None
        if closed is None or found["indented"]:
            refuse("a text has no end, or is indented", source[found.start() :])
        text = source[line : closed.start()]
        if found["quote"] != "'" and re.search(r"[$@\\]", text):
            refuse("a text has more than characters", text)
        quoted = "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"
        after = source[found.end() : line] + source[closed.end() + 1 :]
        source = source[: found.start()] + quoted + after


def _outside_brackets(tokens: Tokens) -> Iterator[str]:
    at = 0
    while at < len(tokens):
        yield tokens[at].text
        at = close(tokens, at) + 1 if tokens[at].text in OPENING else at + 1


def _variables(tokens: Tokens) -> Iterator[str]:
    """Yield the variables that tokens use, without their signs."""
    for token in tokens:
        if token.kind == "variable":
            yield re.sub(r"\W", "", token.text)
        elif token.kind == "text" and not re.match(r"'|qw?\b", token.text):
            yield from _IN_TEXTS.findall(token.text)


class _Definition:
    """A statement that gives a variable a value which does not come from the submission."""

    def __init__(self, text: str, needs: "list[_Definition]", part: int) -> None:
        self.text = text
        self.needs = needs
        """Those whose variables it uses, in order."""
        self.part = part
        """The part of the program that is this statement."""
        self.is_passed = False
        self.is_expected = False


class _Reader:
    """Reads statement by statement, and writes the program of the submission."""

    def __init__(self, source: str, solution_path: str, data: str) -> None:
        self._source = source
        self._path = solution_path
        self._data = data
        self._module = ""
        self._functions: set[str] = set()
        """Those that the tests import from the submission."""
        self._qualified: set[str] = set()
        """Those that they call by the name of the module."""
        self._own: set[str] = set()
        """Variables that have values of the submission."""
        self._pure: dict[str, _Definition] = {}
        self._defined: list[_Definition] = []
        self._table: tuple[str, list[object]] = ("", [])
        self._row: tuple[str, object] = ("", None)
        """The variable of a loop over the table, and its value."""
        self._passed: set[str] = set()
        self._compared: set[str] = set()
        """The fields of rows that lead to values of the submission or are compared with them."""
        self._parts: list[str] = []
        """The parts of the program. A case is shown ahead of the part whose number it has."""
        self._cases: list[tuple[int, str, str, bool, list[_Definition]]] = []

    def tests(self) -> ExpressionTests:
        """Return what was read.

        Raises:
            SuiteError: There is no assertion, or a value is passed and also expected.
        """
        if not self._cases or not self._module:
            refuse("the tests have no assertion about the submission", self._source)
        for each in self._defined:
            if each.is_expected and each.is_passed:
                refuse("a value is passed to the submission and also expected", each.text)
            if each.is_expected:
                self._parts[each.part] = ""
        if both := self._passed & self._compared:
            refuse("a field is passed to the submission and also expected", min(both))
        folder = self._path.rpartition("/")[0]
        found = f"BEGIN {{ unshift @INC, '{folder}' }}\n" if folder else ""
        around, start, cases = list[str](), 0, list[ExpressionCase]()
        for part, actual, expected, contains, needs in self._cases:
            around.append("".join(self._parts[start:part]))
            start = part
            before = "".join(dict.fromkeys(each.text for each in needs))
            cases.append(
                ExpressionCase(
                    id=str(len(cases)),
                    actual=actual,
                    expected=f"do {{ {before}{expected} }}" if before else expected,
                    contains=contains,
                )
            )
        around.append("".join(self._parts[start:]))
        names = "".join(f"sub {name} {{ goto &AUTOLOAD }}\n" for name in sorted(self._qualified))
        return ExpressionTests(
            cases=tuple(cases),
            around=(f"{_DRIVER}{found}{around[0]}", *around[1:]),
            stub=f"{_STAND_IN}package {self._module};\nour @ISA = ('StandInForTests');\n"
            f"*AUTOLOAD = \\&StandInForTests::AUTOLOAD;\n{names}1;\n",
            solution_path=self._path,
        )

    def read(self, tokens: Tokens) -> None:
        """Read some statements."""
        at = 0
        while at < len(tokens):
            first = tokens[at].text
            if first == ";":
                at += 1
            elif first in ("{", "for", "foreach"):
                opened = at
                while tokens[opened].text != "{":
                    opened += 1
                end = close(tokens, opened)
                if opened == at:
                    self._block(tokens[at + 1 : end])
                else:
                    self._loop(tokens[at:opened], tokens[opened + 1 : end])
                at = end + 1
            else:
                end = at
                while end < len(tokens) and tokens[end].text != ";":
                    is_open = tokens[end].text in OPENING
                    end = close(tokens, end) + 1 if is_open else end + 1
                self._statement(tokens[at:end])
                at = end

    def _block(self, tokens: Tokens, start: str = "{", end: str = "}") -> None:
        self._parts.append(f"{start}\n")
        self.read(tokens)
        self._parts.append(f"{end}\n")

    def _loop(self, head: Tokens, body: Tokens) -> None:
        texts = texts_of(head)
        if texts[1:2] != ["my"] or texts[3:] != ["(", f"@{self._table[0]}", ")"] or self._row[0]:
            self._refuse("an assertion is in a loop", head)
        for row in self._table[1]:
            self._row = (texts[2][1:], row)
            self._block(body)
        self._row = ("", None)

    def _statement(self, tokens: Tokens) -> None:
        texts = texts_of(tokens)
        first = texts[0]
        if first == "use":
            self._use(tokens)
        elif first == "subtest":
            opened = texts.index("{") if "{" in texts else 0
            is_block = texts[opened - 2 : opened] in (["=>", "sub"], [",", "sub"])
            if not is_block or close(tokens, opened) + 1 != len(tokens):
                self._refuse("a statement is of an unknown kind", tokens)
            # An error ends a subtest, but not the tests.
            self._block(tokens[opened + 1 : -1], "eval {", "1 } or warn $@;")
        elif first in _IDLE:
            if first != "imported_ok" and self._is_about_submission(tokens):
                self._refuse("a statement is of an unknown kind", tokens)
        elif first in ("is", "is_deeply", "like", "ok"):
            inner = tokens[1:]
            if inner[0].text == "(":
                if close(inner, 0) != len(inner) - 1:
                    self._refuse("a statement is of an unknown kind", tokens)
                inner = inner[1:-1]
            self._assertion(first, tokens, [each for each in split(inner, ",", "=>") if each])
        elif first == "my" and "DATA" in texts and self._data:
            self._table = (texts[1].lstrip("@"), self._rows(tokens))
        elif (
            tokens[0].kind == "word" and first != "my" and not self._is_about_submission(tokens[:1])
        ):
            self._refuse("a statement is of an unknown kind", tokens)
        else:
            self._plain(tokens)

    def _use(self, tokens: Tokens) -> None:
        module = tokens[1].text
        is_own = self._path.endswith(f"{module.replace('::', '/')}.pm")
        if is_own:
            self._module = module
            names = " ".join(re.sub(r"^qw", "", token.text) for token in tokens[2:])
            self._functions |= set(re.findall(r"\w+", names))
        if is_own or module in _PRAGMAS or re.fullmatch(r"v?[\d.]+", module):
            self._parts.append(f"{self._text(tokens)};\n")
        elif module not in _OF_TESTS:
            self._refuse("the tests use another module", tokens)

    def _rows(self, tokens: Tokens) -> list[object]:
        try:
            rows = json.loads(self._data)
        except ValueError:
            rows = None
        if not isinstance(rows, list) or tokens[1].text[0] != "@":
            self._refuse("the rows of a table are not known", tokens)
        return rows

    def _plain(self, tokens: Tokens) -> None:
        """Read an assignment, or another statement that leads to values of the submission."""
        left, *right = split(tokens, "=")
        names = list(_variables(left)) if right or tokens[0].text == "my" else []
        text, part = f"{self._text(tokens)};\n", len(self._parts)
        self._parts.append(text)
        self._remember(tokens)
        if len(right) > 1 or "return" in texts_of(tokens):
            self._refuse("a statement is of an unknown kind", tokens)
        is_own = self._is_about_submission(right[0] if right else tokens)
        is_whole = len(left) - (left[0].text == "my") == 1
        if is_own and right and not self._is_own(right[0]):
            self._refuse("a value is made of more than one of the submission", tokens)
        if is_own:
            self._own |= set(names[:1])
        elif right and is_whole and len(names) == 1:
            each = _Definition(text, self._needed(right[0]), part)
            self._defined.append(each)
            self._pure[names[0]] = each
            self._own.discard(names[0])
            return
        self._pass(right[0] if right else tokens)
        self._pass(left[2:])

    def _assertion(self, kind: str, whole: Tokens, given: list[Tokens]) -> None:
        """Add a case."""
        if not given or (kind != "ok" and len(given) < 2):
            self._refuse("an assertion is of an unknown kind", whole)
        value, other = given[0], given[1] if kind != "ok" else []
        called, body = value[0].text, self._body(value)
        is_call = value[0].kind == "word" and body is None
        if is_call and texts_of(value[1:2]) not in ([], ["("], ["->"]):
            # Perl would take what follows for its arguments, too.
            self._refuse("a call has no brackets", value)
        if body is None and not self._is_own(value):
            self._refuse("an assertion is about more than a value of the submission", value)
        if self._is_about_submission(other):
            self._refuse("the tests expect what the submission computes", other)
        # Of these functions, only `is_deeply` takes a list for several values.
        actual = self._text(value) if kind == "is_deeply" else f"scalar({self._text(value)})"
        expected, needs = "", list[_Definition]()
        if kind == "like":
            if body is not None and called != "dies":
                self._refuse("an assertion is of an unknown kind", whole)
            shown = f"thrown_for_tests({body})" if body else f"text_for_tests({actual})"
            actual, expected = _like(shown, other)
        elif body is not None:
            if called != "lives" or texts_of(other) not in ([], ["T"]):
                self._refuse("an assertion is of an unknown kind", whole)
            actual, expected = f"lives_for_tests({body})", '"lives"'
        elif kind == "ok" or texts_of(other) in (["T"], ["DF"]):
            truth = "false" if texts_of(other) == ["DF"] else "true"
            actual, expected = f"truth_for_tests({actual})", f'"{truth}"'
        else:
            is_number = texts_of(other[:2]) == ["number", "("]
            show = "number_for_tests" if is_number else "one_for_tests"
            wanted = other[2:-1] if is_number else _items(other)
            self._require_plain(wanted)
            needs = self._needed(wanted)
            self._compared |= self._fields(wanted)
            text = self._text(wanted, is_expected=True)
            if other[0].text == "array":
                text = f"[{text}]"
            actual, expected = f"{show}({actual})", f"{show}(scalar({text}))"
        for each in needs:
            each.is_expected = True
        self._pass(value)
        self._remember(value)
        self._cases.append((len(self._parts), actual, expected, kind == "like", needs))
        self._parts.append(";\n")

    def _body(self, value: Tokens) -> str | None:
        """Return the function that `lives` or `dies` calls; None if that is not what a value is."""
        if value[0].text not in ("lives", "dies"):
            return None
        rest = value[1:]
        if rest[0].text == "(" and close(rest, 0) == len(rest) - 1:
            rest = rest[1:-1]
        opened = 1 if rest[0].text == "sub" else 0
        if rest[opened].text != "{" or close(rest, opened) != len(rest) - 1:
            self._refuse("an assertion is of an unknown kind", value)
        if not self._is_about_submission(rest):
            self._refuse("an assertion is about more than a value of the submission", value)
        return self._text(rest) if opened else f"sub {self._text(rest)}"

    def _require_plain(self, tokens: Tokens) -> None:
        """Refuse an expected value that Perl alone cannot make."""
        for token, after in zip(tokens, [*tokens[1:], None], strict=True):
            is_key = after is not None and after.text in ("=>", "}")
            if token.kind == "word" and token.text not in _PURE and not is_key:
                self._refuse("an expected value is of an unknown kind", tokens)
        unknown = set(_variables(tokens)) - self._pure.keys() - {self._row[0], "a", "b", "_"}
        if unknown:
            self._refuse("an expected value has a variable that is not known", tokens)

    def _is_about_submission(self, tokens: Tokens) -> bool:
        """Tell whether tokens name the submission, or variables with its values."""
        if not self._own.isdisjoint(_variables(tokens)):
            return True
        words = {token.text for token in tokens if token.kind == "word"}
        return any(
            word in self._functions or word.split("::")[0] == self._module.split("::")[0]
            for word in words
        )

    def _is_own(self, tokens: Tokens) -> bool:
        """Tell whether an expression is a value of the submission, or a part of one."""
        while tokens and tokens[0].text == "(" and close(tokens, 0) == len(tokens) - 1:
            tokens = tokens[1:-1]
        texts = texts_of(tokens)
        if not tokens:
            return False
        if texts[-2:-1] == ["//"] and tokens[-1].kind == "text":
            return self._is_own(tokens[:-2])
        if texts[0] == "[" and close(tokens, 0) == len(tokens) - 1:
            return self._is_own(tokens[1:-1])
        if texts[0] == "split":
            inner = tokens[1:]
            if texts[1] == "(" and close(inner, 0) == len(inner) - 1:
                inner = inner[1:-1]
            pattern, *value = split(inner, ",")
            return len(pattern) == 1 and len(value) == 1 and self._is_own(value[0])
        first = tokens[0]
        if not self._is_about_submission(tokens[:1]):
            return False
        if first.kind == "word" and texts[1:2] not in ([], ["("], ["->"]):
            # A call without brackets, whose arguments go on to the end.
            return not _OPERATORS & set(_outside_brackets(tokens))
        at = 1
        while at < len(tokens):
            if texts[at] == "->":
                at += 1
                at += texts[at] not in OPENING
            elif texts[at] in ("(", "[", "{"):
                at = close(tokens, at) + 1
            else:
                return False
        return True

    def _needed(self, tokens: Tokens) -> list[_Definition]:
        names = dict.fromkeys(_variables(tokens))
        found = [self._pure[name] for name in names if name in self._pure and name not in self._own]
        return [other for each in found for other in (*each.needs, each)]

    def _pass(self, tokens: Tokens) -> None:
        """Remember that some values lead to the submission."""
        for each in self._needed(tokens):
            each.is_passed = True

    def _remember(self, tokens: Tokens) -> None:
        """Remember what a statement of the submission's program uses."""
        self._passed |= self._fields(tokens)
        for token in tokens:
            if token.kind == "word" and token.text.startswith(f"{self._module}::"):
                self._qualified.add(token.text.removeprefix(f"{self._module}::"))

    def _fields(self, tokens: Tokens) -> set[str]:
        """Return the fields of a row that tokens use."""
        return {
            tokens[index + 3].text
            for index in range(len(tokens) - 3)
            if self._row[0] and tokens[index].text == f"${self._row[0]}"
        }

    def _text(self, tokens: Tokens, *, is_expected: bool = False) -> str:
        """Return the source of tokens, without comments and with the values of a row's fields."""
        parts, at, index = list[str](), tokens[0].start if tokens else 0, 0
        while index < len(tokens):
            token = tokens[index]
            blank = self._source[at : token.start]
            parts.append("\n" if "\n" in blank else " " if blank else "")
            if token.kind == "text" and self._row[0] in _variables([token]):
                self._refuse("a text has a field of a row", [token])
            if token.text != f"${self._row[0]}":
                parts.append(token.text)
                at, index = token.end, index + 1
                continue
            value, index = self._row[1], index + 1
            while texts_of(tokens[index : index + 2]) == ["->", "{"] or (
                tokens[index - 1].text == "}" and texts_of(tokens[index : index + 1]) == ["{"]
            ):
                index += tokens[index].text == "->"
                key = tokens[index + 1].text.strip("'\"")
                if not isinstance(value, dict) or tokens[index + 2].text != "}":
                    self._refuse("the rows of a table are not known", tokens)
                value, index = value.get(key), index + 3
            if value is self._row[1] or (is_expected and _has_truth(value)):
                self._refuse("a row of a table is used in an unknown way", tokens)
            parts.append(_literal(value))
            at = tokens[index - 1].end
        return "".join(parts)

    def _refuse(self, why: str, tokens: Tokens) -> NoReturn:
        refuse(why, self._source[tokens[0].start : tokens[-1].end] if tokens else "")


def _items(tokens: Tokens) -> Tokens:
    """Return the items of `array { item ...; end; }`; other values as they are."""
    if tokens[0].text != "array":
        return tokens
    *items, last, rest = split(tokens[2:-1], ";")
    if texts_of(last) != ["end"] or rest or tokens[1].text != "{":
        refuse("an expected value is of an unknown kind", " ".join(texts_of(tokens)))
    found = list[Token]()
    for item in items:
        if item[0].text != "item" or len(item) != 2 or item[1].kind not in ("text", "number"):
            refuse("an expected value is of an unknown kind", " ".join(texts_of(item)))
        found += [item[1], Token("sign", ",", item[1].end, item[1].end)]
    return found


def _like(shown: str, pattern: Tokens) -> tuple[str, str]:
    """Return the two sides of a comparison with a pattern that is a plain text."""
    found = re.fullmatch(r"qr\s*(?:/(.+)/|\((.+)\)|\{(.+)\})", pattern[0].text)
    text = next(filter(None, found.groups()), "") if found and len(pattern) == 1 else ""
    if text.endswith(".") and not text.endswith("\\."):
        shown, text = f"without_last_for_tests({shown})", text[:-1]
    if not _PLAIN_PATTERN.fullmatch(text):
        refuse("a pattern is more than a text", " ".join(texts_of(pattern)))
    return shown, _literal(re.sub(r"\\(.)", r"\1", text))


def _has_truth(value: object) -> bool:
    """Tell whether `true` or `false` is in a value in JSON, which Perl has as objects."""
    if isinstance(value, list | dict):
        return any(map(_has_truth, value.values() if isinstance(value, dict) else value))
    return isinstance(value, bool)


def _literal(value: object) -> str:
    """Return a value in JSON as Perl writes it."""
    if value is None:
        return "undef"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        pairs = (f"{_literal(key)} => {_literal(each)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, str):
        plain = re.sub(
            r"[^\w ,.;:!?'()\[\]<>/*+=-]",
            lambda found: f"\\x{{{ord(found[0]):x}}}",
            value,
            flags=re.A,
        )
        return f'"{plain}"'
    return str(int(value)) if isinstance(value, bool) else repr(value)
