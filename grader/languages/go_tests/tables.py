"""Finds the tests in a function, and the rows of the tables that they loop over."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, NoReturn

from grader.languages.go_tests.source import (
    HARMLESS,
    File,
    Loop,
    Run,
    Simple,
    Statement,
    assignment,
    close_or,
    end_of_type,
    fields_of,
    names_of,
    set_in,
    text_of,
    unknown,
)
from grader.languages.reading_tests import Tokens, close, refuse, split, texts_of


class TableRow(NamedTuple):
    """One iteration of a loop over a table, or a test that is in no such loop."""

    name: str = ""
    """The variable that has the row; empty if there is none, or if the row has no fields."""
    fields: Mapping[str, str] = {}
    """The values of those fields that the row gives."""
    types: Mapping[str, str] = {}
    """The types of all fields, in order."""
    variables: Mapping[str, tuple[str, str]] = {}
    """Other variables of the loop, with type and value."""


class Test(NamedTuple):
    """A test, or all rows of one."""

    name: str
    table: str
    """The source of the table; empty if there is none."""
    rows: list[TableRow]
    statements: list[Statement]


class Tests:
    """Finds the tests in a function."""

    def __init__(self, source: str, file: File, name: str, reporter: str, tables: set[str]) -> None:
        self._source = source
        self._file = file
        self._name = name
        self._reporter = reporter
        self._tables = tables
        """The variables with rows of tables, as far as they were found."""

    def find(
        self,
        statements: Sequence[Statement],
        table: str = "",
        rows: Sequence[TableRow] = (TableRow(),),
        before: Sequence[Statement] = (),
    ) -> Iterator[Test]:
        """Yield the tests of some statements.

        Args:
            statements: The statements.
            table: The table of the loop that they are in.
            rows: Its rows.
            before: Statements ahead of them.
        """
        inner = [each for each in statements if self._has_cases(each)]
        if not inner:
            yield Test(self._name, table, [*rows], [*before, *statements])
        elif inner == [statements[-1]] and isinstance(inner[0], Run):
            yield from self.find(inner[0].body, table, rows, [*before, *statements[:-1]])
        else:
            ahead = list[Statement](before)
            for each in statements:
                if each not in inner:
                    self._require_shared(each, ahead)
                    ahead.append(each)
                elif isinstance(each, Run):
                    yield from self.find(each.body, table, rows, ahead)
                elif table or not isinstance(each, Loop):
                    self._refuse("an assertion is in a loop", each.tokens)
                else:
                    if any(
                        "return" in texts_of(one.tokens)
                        for one in each.body
                        if not isinstance(one, Run)
                    ):
                        self._refuse("a row may end the loop", each.tokens)
                    yield from self.find(each.body, *self._table(each, ahead), ahead)

    def _has_cases(self, statement: Statement) -> bool:
        is_loop = isinstance(statement, Loop) and self._reporter in texts_of(statement.tokens)
        return is_loop or isinstance(statement, Run)

    def _require_shared(self, statement: Statement, ahead: Sequence[Statement]) -> None:
        """Refuse a statement that several cases share if it is about the submission."""
        texts = texts_of(statement.tokens)
        if texts[0] == self._reporter and texts[2] in HARMLESS:
            return
        local = set(chain(*(set_in(each.tokens) for each in [*ahead, statement])))
        names = set(names_of(statement.tokens)) - local
        is_simple = isinstance(statement, Simple) and self._reporter not in names
        if not is_simple or unknown(names, self._file):
            self._refuse("several cases share a statement", statement.tokens)

    def _table(self, loop: Loop, ahead: Sequence[Statement]) -> tuple[str, list[TableRow]]:
        """Return the table of a loop, and its rows."""
        left, *right = split(loop.head, ":=")
        names = [each[0].text for each in split(left, ",") if each]
        if not right or right[0][0].text != "range" or not 1 <= len(names) <= 2:
            self._refuse("an assertion is in a loop", loop.tokens)
        given = right[0][1:]
        literal = self._literal(given, ahead)
        at = end_of_type(literal, 0)
        known = texts_of(literal[:1]) in (["["], ["map"])
        if not known or close_or(literal, at) < len(literal) - 1:
            self._refuse("the rows of a table are not known", loop.tokens)
        is_map = literal[0].text == "map"
        bracket = close(literal, int(is_map))
        key_type = text_of(self._source, literal[2:bracket]) if is_map else "int"
        element = literal[bracket + 1 : at]
        rows = list[TableRow]()
        for item in filter(None, split(literal[at + 1 : -1], ",")):
            *key, value = split(item, ":")
            if len(key) != int(is_map):
                self._refuse("the rows of a table are not known", item)
            index = text_of(self._source, key[0]) if key else str(len(rows))
            variables = {names[0]: (key_type, index)} if names[0] != "_" else {}
            if len(names) == 2:
                rows.append(self._row(names[1], element, value, variables))
            else:
                rows.append(TableRow(variables=variables))
        if not rows:
            self._refuse("the rows of a table are not known", loop.tokens)
        return text_of(self._source, given), rows

    def _literal(self, given: Tokens, ahead: Sequence[Statement] = ()) -> Tokens:
        """Return the literal that a name stands for; the expression itself if it is not a name."""
        if len(given) != 1 or given[0].kind != "word":
            return given
        name = given[0].text
        self._tables.add(name)
        values = [
            right
            for each in ahead
            for left, _sign, right in [assignment(each.tokens)]
            if name in set_in(each.tokens) or [texts_of(one[:1]) for one in left] == [[name]]
        ]
        if not values and (found := self._file.declared.get(name)) and found.kind == "var":
            values = [split(found.tokens, "=")[-1]]
        return values[0] if len(values) == 1 else ()

    def _row(
        self, name: str, element: Tokens, value: Tokens, variables: dict[str, tuple[str, str]]
    ) -> TableRow:
        kind = element[1:] if element[0].text == "*" else element
        found = self._file.declared.get(kind[0].text) if len(kind) == 1 else None
        if found is not None and found.kind == "type":
            kind = found.tokens[1:]
        if kind[0].text != "struct":
            text = text_of(self._source, value)
            if value[0].text == "{":
                text = text_of(self._source, element) + text
            return TableRow(variables={**variables, name: (text_of(self._source, element), text)})
        types = fields_of(kind[2:-1])
        if len(value) == 1:
            value = self._literal(value)
        opened = next((at for at, token in enumerate(value) if token.text == "{"), -1)
        if value and value[opened - 1].text == "struct":
            opened = close(value, opened) + 1
        if close_or(value, opened) != len(value) - 1:
            self._refuse("the rows of a table are not known", value)
        parts = [*filter(None, split(value[opened + 1 : -1], ","))]
        fields = dict[str, str]()
        for field, part in zip(types, parts, strict=False):
            if part[1:2] and part[1].text == ":" and part[0].text in types:
                fields[part[0].text] = text_of(self._source, part[2:])
            elif len(parts) == len(types):
                fields[field] = text_of(self._source, part)
            else:
                self._refuse("the rows of a table are not known", value)
        shown = {field: text_of(self._source, each) for field, each in types.items()}
        return TableRow(name, fields, shown, variables)

    def _refuse(self, why: str, tokens: Tokens) -> NoReturn:
        refuse(why, text_of(self._source, tokens) or self._name)
