"""The source of Go: tokens, statements and declarations."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple, NoReturn

from grader.languages.reading_tests import (
    CLOSING,
    OPENING,
    Token,
    Tokens,
    close,
    refuse,
    split,
    texts_of,
)

_MOST_DEPTH = 40
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<space>[ \t\r]+)|(?P<line>\n)
    |(?P<text>"(?:\\.|[^"\\\n])*"|`[^`]*`|'(?:\\.|[^'\\\n])+')
    |(?P<word>[^\W\d]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<sign><<=|>>=|&\^=|\.\.\.|&&|\|\||<-|\+\+|--|==|!=|<=|>=|:=|[-+*/%&|^]=|<<|>>|&\^
    |[-+*/%&|^<>=!()\[\]{},;.:~])""",
    re.VERBOSE | re.DOTALL,
)
_ENDS_LINES = frozenset({"break", "continue", "fallthrough", "return", "++", "--", ")", "]", "}"})
KEYWORDS = frozenset(
    """
    break case chan const continue default defer else fallthrough for func go goto if import
    interface map package range return select struct switch type var
    """.split()
)
PREDECLARED = frozenset(
    """
    any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64
    rune string uint uint8 uint16 uint32 uint64 uintptr true false iota nil append cap clear close
    complex copy delete imag len make max min new panic print println real recover _
    """.split()
)
HARMLESS = frozenset({"Helper", "Log", "Logf", "Parallel"})
ASSIGNS = frozenset({":=", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})


def tokens_of(source: str) -> list[Token]:
    """Return the tokens of some source, with a `;` where a line ends a statement."""
    found, at, depth = list[Token](), 0, 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            refuse("the tests are not Go", source[at:])
        depth += (match[0] in OPENING) - (match[0] in CLOSING)
        if not 0 <= depth <= _MOST_DEPTH:
            refuse("brackets do not match, or are too deep", source[at:])
        kind, at = match.lastgroup or "", match.end()
        if kind == "line" or (kind == "comment" and "\n" in match[0]):
            last = found[-1] if found else None
            if last is not None and (
                last.text in _ENDS_LINES
                or last.kind in ("text", "number")
                or (last.kind == "word" and last.text not in KEYWORDS)
            ):
                found.append(Token("sign", ";", match.start(), match.start()))
        elif kind in ("text", "word", "number", "sign"):
            found.append(Token(kind, match[0], match.start(), at))
    return found


def without_comments(source: str) -> str:
    """Return source with blanks in place of comments, which may tell what is expected."""
    return _TOKEN.sub(
        lambda found: re.sub(r"[^\n]", " ", found[0]) if found["comment"] else found[0], source
    )


def words(text: str) -> set[str]:
    """Return the names in some source, without those of members."""
    return set(names_of(tokens_of(text)))


def names_of(tokens: Tokens) -> Iterator[str]:
    """Yield the names that tokens use, without those of members, fields and keys in literals."""
    fields = set[int]()
    for index, token in enumerate(tokens):
        if token.text == "struct" and tokens[index + 1 : index + 2]:
            fields |= _fields_at(tokens, index + 1)
        if token.kind != "word" or token.text in KEYWORDS or index in fields:
            continue
        before = tokens[index - 1].text if index else ""
        after = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if before != "." and not (after == ":" and before in ("{", ",")):
            yield token.text


def _fields_at(tokens: Tokens, opened: int) -> set[int]:
    """Return the indices of the names of fields in a struct's type."""
    found, is_start = set[int](), True
    at, end = opened + 1, close(tokens, opened)
    while at < end:
        if is_start and tokens[at + 1].text not in (";", ".", "}"):
            found.add(at)
        is_start = tokens[at].text == ";" or (is_start and tokens[at + 1].text == ",")
        is_start = is_start or (tokens[at].text == "," and at - 1 in found)
        at = close(tokens, at) + 1 if tokens[at].text in OPENING else at + 1
    return found


def _end_of_statement(tokens: Tokens, at: int) -> int:
    """Return the index behind a statement without blocks."""
    while at < len(tokens) and tokens[at].text != ";":
        at = close(tokens, at) + 1 if tokens[at].text in OPENING else at + 1
    return at


def is_around(tokens: Tokens) -> bool:
    """Tell whether one pair of brackets is around all tokens."""
    return bool(tokens) and tokens[0].text == "(" and close(tokens, 0) == len(tokens) - 1


def end_of_type(tokens: Tokens, at: int) -> int:
    """Return the index behind a type."""
    while at < len(tokens):
        text = tokens[at].text
        if text == "[":
            at = close(tokens, at) + 1
        elif text == "map" and tokens[at + 1 : at + 2]:
            at = close(tokens, at + 1) + 1
        elif text == "*":
            at += 1
        elif text in ("struct", "interface") and tokens[at + 1 : at + 2]:
            return close(tokens, at + 1) + 1
        else:
            at += 1
            while at + 1 < len(tokens) and tokens[at].text == ".":
                at += 2
            return at
    return at


def _block_at(tokens: Tokens, at: int) -> int:
    """Return the index of the bracket that opens the block of a statement, after its head."""
    start = at
    while at < len(tokens):
        text, before = tokens[at].text, tokens[at - 1].text if at > start else "="
        if text == "{":
            return at
        if (
            text in ("map", "struct")
            or (text == "[" and before not in (")", "]") and tokens[at - 1].kind == "sign")
            or (text == "[" and before == "range")
        ):
            at = end_of_type(tokens, at)
        elif text == "func":
            at = _block_at(tokens, close(tokens, at + 1) + 1)
        elif text in ("(", "["):
            at = close(tokens, at) + 1
            continue
        else:
            at += 1
            continue
        if at < len(tokens) and tokens[at].text == "{":
            at = close(tokens, at) + 1
    return refuse("a statement has no block", tokens[start].text if tokens[start:] else "")


@dataclass(frozen=True, eq=False)
class Simple:
    """A statement without blocks of its own."""

    tokens: Tokens


@dataclass(frozen=True, eq=False)
class If:
    """A condition with two blocks, the second perhaps empty."""

    tokens: Tokens
    init: Tokens
    condition: Tokens
    then: "list[Statement]"
    other: "list[Statement]"


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop."""

    tokens: Tokens
    head: Tokens
    body: "list[Statement]"


@dataclass(frozen=True, eq=False)
class Run:
    """`t.Run(title, func(t *testing.T) { body })`."""

    tokens: Tokens
    body: "list[Statement]"


@dataclass(frozen=True, eq=False)
class Braced:
    """A block of its own, or a statement `switch` as conditions one after another."""

    tokens: Tokens
    body: "list[Statement]"


Statement = Simple | If | Loop | Run | Braced


def statements_of(tokens: Tokens) -> list[Statement]:
    """Return the statements of a block."""
    found, at = list[Statement](), 0
    while at < len(tokens):
        first = tokens[at].text
        if first == ";":
            at += 1
            continue
        if first in ("if", "for", "switch", "{"):
            statement, at = _compound(tokens, at)
            found.append(statement)
            continue
        end = _end_of_statement(tokens, at)
        found.append(_simple(tokens[at:end]))
        at = end
    return found


def _simple(tokens: Tokens) -> Statement:
    if tokens[0].text in ("go", "defer", "select", "goto", "fallthrough", "type", "func"):
        refuse_tokens("a statement is of an unknown kind", tokens)
    texts = [token.text for token in tokens]
    if texts[1:4] == [".", "Run", "("] and close(tokens, 3) == len(tokens) - 1:
        body = split(tokens[4:-1], ",")[-1]
        if [token.text for token in body[:2]] == ["func", "("] and body[-1].text == "}":
            opened = close(body, 1) + 1
            return Run(tokens, statements_of(body[opened + 1 : -1]))
    return Simple(tokens)


def _compound(tokens: Tokens, at: int) -> tuple[Statement, int]:
    """Return a statement with blocks, and the index behind it."""
    start, kind = at, tokens[at].text
    opened = at if kind == "{" else _block_at(tokens, at + 1)
    closed = close(tokens, opened)
    head, body, at = tokens[start + 1 : opened], tokens[opened + 1 : closed], closed + 1
    if kind == "{":
        return Braced(tokens[start:at], statements_of(body)), at
    if kind == "for":
        return Loop(tokens[start:at], head, statements_of(body)), at
    *init, last = split(head, ";")
    if len(init) > 1:
        refuse_tokens("a statement is of an unknown kind", tokens[start:at])
    first = init[0] if init else ()
    if kind == "switch":
        whole = Braced(tokens[start:at], _switch(tokens[start:at], last, body))
        if not first:
            return whole, at
        return Braced(tokens[start:at], [_simple(first), whole]), at
    other = list[Statement]()
    if at < len(tokens) and tokens[at].text == "else":
        if tokens[at + 1].text == "if":
            statement, at = _compound(tokens, at + 1)
            other = [statement]
        else:
            closed = close(tokens, at + 1)
            other, at = statements_of(tokens[at + 2 : closed]), closed + 1
    return If(tokens[start:at], first, last, statements_of(body), other), at


def _switch(whole: Tokens, tag: Tokens, body: Tokens) -> list[Statement]:
    """Return the clauses of a `switch` as conditions, the last one first."""
    starts, at = list[int](), 0
    while at < len(body):
        if body[at].text in ("case", "default"):
            starts.append(at)
        at = close(body, at) + 1 if body[at].text in OPENING else at + 1
    other = list[Statement]()
    conditions = list[tuple[Tokens, list[Statement]]]()
    for start, end in pairwise([*starts, len(body)]):
        head, *rest = split(body[start:end], ":")
        colon = start + len(head)
        statements = statements_of(body[colon + 1 : end])
        if any("break" in texts_of(each.tokens) for each in statements) or not rest:
            refuse_tokens("a statement is of an unknown kind", body[start:end])
        if head[0].text == "default":
            other = statements
            continue
        values = split(head[1:], ",")
        equals, either = Token("sign", "==", 0, 0), Token("sign", "||", 0, 0)
        tests = [[*tag, equals, *value] if tag else list(value) for value in values]
        conditions.append(([*chain(*([*each, either] for each in tests))][:-1], statements))
    for condition, statements in reversed(conditions):
        other = [If(whole, (), condition, statements, other)]
    return other


def refuse_tokens(why: str, tokens: Tokens) -> NoReturn:
    """Refuse the tests because of some tokens."""
    refuse(why, " ".join(texts_of(tokens)))


class Declaration(NamedTuple):
    """What a file declares outside of functions."""

    kind: str
    """`const`, `var`, `type` or `func`."""
    text: str
    tokens: Tokens
    names: tuple[str, ...]


class File(NamedTuple):
    """What is declared in the files of the tests, by name."""

    packages: Mapping[str, str]
    """The import of each package, by the name that it has."""
    declared: Mapping[str, Declaration]


def read_file(source: str) -> File:
    """Return what files of tests declare."""
    tokens, at = tokens_of(source), 0
    packages = dict[str, str]()
    declared = dict[str, Declaration]()
    while at < len(tokens):
        kind = tokens[at].text
        if kind == ";":
            at += 1
            continue
        if kind == "func":
            end = _block_at(tokens, at + 1)
            whole = tokens[at : close(tokens, end) + 1]
            at += len(whole)
            named = close(whole, 1) + 1 if whole[1].text == "(" else 1
            # A method is kept with its type.
            receiver = list(names_of(whole[1:named]))[-1:]
            name = f"{receiver[0]}.{whole[named].text}" if receiver else whole[named].text
            _declare(declared, source, kind, whole, (name,))
            continue
        end = _end_of_statement(tokens, at)
        whole = tokens[at:end]
        at = end
        if kind == "package":
            continue
        if kind == "import":
            for path in (token for token in whole if token.kind == "text"):
                before = whole[whole.index(path) - 1]
                alias = before.text if before.kind == "word" and before.text != "import" else ""
                name = alias or path.text[1:-1].rpartition("/")[2]
                packages[name] = f"import {alias} {path.text}"
            continue
        if kind not in ("const", "var", "type"):
            refuse_tokens("the tests are not Go", whole)
        items = split(whole[2:-1], ";") if whole[1].text == "(" else [whole[1:]]
        if kind == "const" and "iota" in texts_of(whole):
            names = tuple(each[0].text for each in items if each)
            _declare(declared, source, kind, whole, names)
            continue
        for item in filter(None, items):
            names = tuple(part[0].text for part in split(split(item, "=")[0], ",") if part)
            _declare(declared, source, kind, item, names if kind != "type" else names[:1])
    return File(packages, declared)


def _declare(
    declared: dict[str, Declaration],
    source: str,
    kind: str,
    tokens: Tokens,
    names: tuple[str, ...],
) -> None:
    text = text_of(source, tokens)
    if not text.startswith(f"{kind} ") and tokens[0].text != kind:
        text = f"{kind} {text}"
    for name in names:
        declared[name] = Declaration(kind, text, tokens, names)


def text_of(source: str, tokens: Tokens) -> str:
    """Return the source of tokens that follow one another."""
    return source[tokens[0].start : tokens[-1].end] if tokens else ""


def close_or(tokens: Tokens, at: int) -> int:
    """Return the index of the bracket that closes the one at an index; -1 if none is there."""
    is_open = at < len(tokens) and tokens[at].text in ("(", "[", "{")
    return close(tokens, at) if is_open else -1


def changed_by(statement: Statement) -> set[str]:
    """Return the variables that a statement may change."""
    if isinstance(statement, Simple):
        left, sign, _right = assignment(statement.tokens)
        return {each[0].text for each in left} if sign else set(names_of(statement.tokens))
    found = set[str]()
    if isinstance(statement, If):
        found |= changed_by(Simple(statement.init)) if statement.init else set()
        return found.union(*map(changed_by, [*statement.then, *statement.other]))
    return found.union(*map(changed_by, statement.body))


def set_in(tokens: Tokens) -> set[str]:
    """Return the variables that a statement with blocks sets."""
    found = set[str]()
    for index, token in enumerate(tokens):
        if token.text in ASSIGNS or token.text in ("++", "--"):
            start = index
            while start and tokens[start - 1].text not in (";", "{", "}"):
                start -= 1
            found |= {part[0].text for part in split(tokens[start:index], ",") if part}
    return found


def assignment(tokens: Tokens) -> tuple[list[Tokens], str, Tokens]:
    """Return what a statement assigns to, how, and the value; if it assigns nothing, all of it."""
    if tokens[0].text == "var":
        left, *right = split(tokens[1:], "=")
        names = [each[:1] for each in split(left, ",")]
        return names, "=", right[0] if right else ()
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text in OPENING) - (token.text in CLOSING)
        if depth == 0 and token.text in ASSIGNS:
            return split(tokens[:index], ","), token.text, tokens[index + 1 :]
        if depth == 0 and token.text in ("++", "--"):
            return [tokens[:index]], token.text, tokens[:index]
    return [], "", tokens


def reached_from(names: Iterable[str], file: File) -> dict[str, Declaration]:
    """Return the declarations that some names lead to, in order of the file."""
    found, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name in found or name not in file.declared:
            continue
        found.add(name)
        waiting += names_of(file.declared[name].tokens)
        waiting += [other for other in file.declared if other.startswith(f"{name}.")]
    return {name: each for name, each in file.declared.items() if name in found}


def unknown(names: Iterable[str], file: File) -> set[str]:
    """Return the names of the submission that some names lead to."""
    found = reached_from(names, file)
    every = {*names, *chain(*(free_names(each) for each in found.values()))}
    return every - file.declared.keys() - file.packages.keys() - PREDECLARED


def words_before(tokens: Tokens, index: int) -> Tokens:
    """Return the words ahead of a `:=`, with the commas between them."""
    start = index
    while start and (tokens[start - 1].kind == "word" or tokens[start - 1].text == ","):
        start -= 1
    return tokens[start:index]


def free_names(declaration: Declaration) -> set[str]:
    """Return the names in a declaration that it does not itself define."""
    tokens = declaration.tokens
    bound = set[str](declaration.names)
    for index, token in enumerate(tokens):
        if token.text == ":=":
            bound |= {each.text for each in words_before(tokens, index)}
        elif token.text == "var" and index + 1 < len(tokens):
            bound.add(tokens[index + 1].text)
        elif token.text == "func":
            at = index + 1
            while at < len(tokens) and tokens[at].text != "{" and at < index + 40:
                if tokens[at].text == "(":
                    end = close(tokens, at)
                    bound |= {part[0].text for part in split(tokens[at + 1 : end], ",") if part}
                    at = end
                elif tokens[at].kind == "word" and tokens[at + 1].text == "(":
                    bound.add(tokens[at].text)
                at += 1
    return set(names_of(tokens)) - bound


def fields_of(tokens: Tokens) -> dict[str, Tokens]:
    """Return the types of a struct's fields."""
    found = dict[str, Tokens]()
    for line in filter(None, split(tokens, ";")):
        names = [line[0].text]
        at = 1
        while at + 1 < len(line) and line[at].text == ",":
            names.append(line[at + 1].text)
            at += 2
        kind = line[at : end_of_type(line, at)]
        if not kind or line[0].kind != "word":
            refuse_tokens("a field has no name", line)
        found |= dict.fromkeys(names, kind)
    return found
