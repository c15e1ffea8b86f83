"""Our programs: one with the submission, and one that shows what is expected."""

import json
from collections.abc import Mapping, Sequence

from grader.languages.go_tests.source import (
    Declaration,
    File,
    names_of,
    reached_from,
    tokens_of,
    unknown,
    words,
)
from grader.languages.go_tests.tables import TableRow, Test
from grader.languages.go_tests.ways import Event
from grader.languages.reading_tests import refuse
from grader.model import ExpressionCase, ExpressionTests


class TwoPrograms:
    """Our two programs, as they grow test by test."""

    def __init__(self, file: File, tables: set[str], solution_path: str) -> None:
        self._file = file
        self._solution_path = solution_path
        self._tables = tables
        self.cases = list[ExpressionCase]()
        self._actual = list[str]()
        self._expected = list[str]()
        self._passed = dict[str, set[str]]()
        """The fields of each table that lead to values of the submission."""
        self._compared = dict[str, set[str]]()

    def add(self, test: Test, ways: Sequence[tuple[Event, ...]], reporter: str) -> None:
        """Add the cases of a test, given what happens in each row."""
        number = len(self.cases)
        kind, run = f"rowOf{test.name}{number}", f"runOf{test.name}{number}"
        paths = [_kept(way, is_actual=True) for way in ways]
        for path, way in zip(paths, ways, strict=True):
            for event in _kept(way, is_actual=False):
                if event.kind == "pure" and event in path:
                    refuse("a value is passed to the submission and also expected", event.actual)
        body = "\n".join(_merged(paths, 0))
        row = test.rows[0]
        passed = _used(body, row)
        if test.table in words(body):
            refuse("a table is used as a whole", test.table)
        self._actual.append(
            f"{_struct(kind, row, passed)}func {run}({_parameters(kind, row, passed)}) "
            f"(seen seenForTests) {{\n{_reporting(reporter, body)}{body}\n}}"
        )
        wanted, all_compared = dict[str, str](), set[str]()
        for each, way in zip(test.rows, ways, strict=True):
            text = _expectation(_kept(way, is_actual=False))
            compared = _used(text, row)
            all_compared |= compared
            self._require_known(each, compared)
            name = wanted.setdefault(text, f"wantedOf{test.name}{number}_{len(wanted)}")
            self.cases.append(
                ExpressionCase(
                    id=str(len(self.cases)),
                    actual=f"{run}({_arguments(kind, each, passed)})",
                    expected=f"{name}({_arguments(f'{kind}_{name}', each, compared)})",
                )
            )
        for text, name in wanted.items():
            compared = _used(text, row)
            self._expected.append(
                f"{_struct(f'{kind}_{name}', row, compared)}"
                f"func {name}({_parameters(f'{kind}_{name}', row, compared)}) seenForTests {{\n"
                f"{_reporting(reporter, text)}{text}\n}}"
            )
        self._passed.setdefault(test.table, set()).update(passed)
        self._compared.setdefault(test.table, set()).update(all_compared)

    def _require_known(self, row: TableRow, compared: set[str]) -> None:
        for name in compared:
            value = row.variables[name][1] if name in row.variables else row.fields.get(name, "")
            if unknown(words(f"{value};{row.types.get(name, '')}"), self._file):
                refuse("the tests expect what the submission computes", value)

    def tests(self) -> ExpressionTests:
        """Return the tests.

        Raises:
            SuiteError: The submission's program would have what is expected.
        """
        for table, passed in self._passed.items():
            if table and (both := passed & self._compared[table]):
                refuse("a field is passed to the submission and also expected", min(both))
        actual, expected = "\n".join(self._actual), "\n".join(self._expected)
        passed = words(actual) | set().union(*(words(case.actual) for case in self.cases))
        compared = words(expected) | set().union(*(words(case.expected) for case in self.cases))
        reached, wanted = (reached_from(names, self._file) for names in (passed, compared))
        for name, each in reached.items():
            if name in self._tables:
                refuse("a table is used as a whole", name)
            # A function may use a constant for both, but a variable may hold what is expected.
            is_both = name in passed & compared if each.kind == "const" else name in wanted
            if is_both and each.kind in ("const", "var"):
                refuse("a name is passed to the submission and also expected", name)
        return ExpressionTests(
            cases=tuple(self.cases),
            around=("func main() {\n", *["\n"] * (len(self.cases) - 1), "\n}\n"),
            setup=self._with_declarations(actual, reached),
            solution_path=self._solution_path,
            stub=self._with_declarations(expected, wanted),
        )

    def _with_declarations(self, source: str, found: Mapping[str, Declaration]) -> str:
        source = "\n".join([*dict.fromkeys(each.text for each in found.values()), source, ""])
        used = words(source)
        imports = [text for name, text in self._file.packages.items() if name in used]
        return "\n".join([*imports, source])


def _kept(way: tuple[Event, ...], *, is_actual: bool) -> list[Event]:
    """Return what one of our programs needs of what happens in a test."""
    kept, needed = list[Event](), set[str]()
    for event in reversed(way):
        if event.kind == "pure" and not event.names & needed:
            continue
        if event.kind == "do" and not is_actual:
            continue
        kept.append(event)
        needed |= words(event.actual if is_actual or event.kind == "pure" else event.expected)
    return kept[::-1]


def _merged(paths: Sequence[list[Event]], at: int) -> list[str]:
    """Return statements that show what is looked at in each row of a table.

    Raises:
        SuiteError: They would differ from row to row, which would tell what is expected.
    """
    going = [path for path in paths if at < len(path)]
    if not going:
        return ["return seen"]
    first = going[0][at]
    same = all(path[at][:2] == first[:2] and path[at].how == first.how for path in going)
    if len(going) < len(paths) or not same:
        refuse("it depends on the row which values are looked at", first.actual)
    shown = f"seen = append(seen, {first.how}({first.actual}))"
    if not all(path[at].truth for path in paths):
        text = shown if first.kind == "show" else first.actual
        return [text, *_merged(paths, at + 1)]
    branches = list[list[str]]()
    for truth in ("true", "false"):
        chosen = [path for path in paths if path[at].truth == truth]
        rest = _merged(chosen, at + 1) if chosen else ["return seen"]
        seen = [f"seen = append(seen, {_seen(first.actual, truth)})"] if first.kind == "is" else []
        branches.append([*seen, *rest])
    condition = first.actual if first.kind == "is" else f"{first.actual} == true"
    before = [] if first.kind == "is" else [shown]
    return [*before, f"if {condition} {{", *branches[0], "}", *branches[1]]


def _seen(condition: str, truth: str) -> str:
    return json.dumps(f"{' '.join(condition.split())}: {truth}", ensure_ascii=False)


def _expectation(way: list[Event]) -> str:
    """Return statements that show what must be seen."""
    shown = [
        _seen(event.actual, event.truth) if event.kind == "is" else f"{event.how}({event.expected})"
        for event in way
        if event.kind in ("is", "show")
    ]
    before = [event.actual for event in way if event.kind == "pure"]
    return "\n".join([*before, f"return seenForTests{{{', '.join(shown)}}}"])


def _used(text: str, row: TableRow) -> set[str]:
    """Return the fields of a row, and the other variables of a loop, that some source uses.

    Raises:
        SuiteError: It uses the row as a whole.
    """
    tokens = tokens_of(text)
    words = set(names_of(tokens))
    found = words & row.variables.keys()
    for token, dot, field in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.text == row.name and token.kind == "word":
            if dot.text != "." or field.text not in row.types:
                refuse("a row of a table is used as a whole", text[token.start :])
            found.add(field.text)
    return found


def _struct(kind: str, row: TableRow, used: set[str]) -> str:
    fields = "; ".join(f"{field} {each}" for field, each in row.types.items() if field in used)
    return f"type {kind} struct {{ {fields} }}\n" if row.name else ""


def _parameters(kind: str, row: TableRow, used: set[str]) -> str:
    others = [f"{name} {each}" for name, (each, _value) in row.variables.items() if name in used]
    return ", ".join([*([f"{row.name} {kind}"] if row.name else ()), *others])


def _arguments(kind: str, row: TableRow, used: set[str]) -> str:
    fields = ", ".join(f"{field}: {each}" for field, each in row.fields.items() if field in used)
    others = [value for name, (_kind, value) in row.variables.items() if name in used]
    return ", ".join([*([f"{kind}{{{fields}}}"] if row.name else ()), *others])


def _reporting(reporter: str, text: str) -> str:
    """Return the definition of what tests report to, if some source names it."""
    return f"var {reporter} *testing.T\n" if reporter in words(text) else ""
