"""Follows a test through its conditions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, NoReturn

from grader.languages.go_tests.source import (
    HARMLESS,
    KEYWORDS,
    PREDECLARED,
    File,
    If,
    Loop,
    Simple,
    Statement,
    assignment,
    changed_by,
    close_or,
    end_of_type,
    is_around,
    names_of,
    set_in,
    text_of,
    unknown,
    words_before,
)
from grader.languages.go_tests.tables import TableRow
from grader.languages.go_tests.values import decided, value_of
from grader.languages.reading_tests import Tokens, close, refuse, split, texts_of
from grader.model.errors import SuiteError

_MOST_WAYS = 64
"""How many ways through a test are followed at the same time."""
_FAILS = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
_EQUALITIES = {
    "reflect.DeepEqual": "strictForTests",
    "slices.Equal": "elementsForTests",
    "maps.Equal": "elementsForTests",
    "bytes.Equal": "elementsForTests",
}
"""Functions that compare two values, and what shows such a value so that equal ones look alike."""


class Event(NamedTuple):
    """What happens on a way through a test."""

    kind: str
    """`pure`: a statement without the submission. `do`: one with it. `is`: a condition about a
    value of it. `show`: a comparison of a value of it. `differs`: one whose sides differ."""
    actual: str
    """A statement, a condition, or the value."""
    expected: str = ""
    """For `show`, the other side."""
    how: str = ""
    """For `show`, the function that shows both sides."""
    truth: str = ""
    """For `is`, `true` or `false`; for `show`, the same if the row says which of them a value must
    be."""
    names: frozenset[str] = frozenset()
    """For `pure`, the variables that it sets."""


class Name(NamedTuple):
    """A variable."""

    emitted: str
    """The name in our programs, where all variables are in one block."""
    kind: str
    """`own`: a value of the submission. `mixed`: one that other code made of such a value. `pure`:
    any other."""


class Way(NamedTuple):
    """Where one way through a test has come to."""

    scopes: tuple[Mapping[str, Name], ...]
    taken: frozenset[str]
    """The names that our program has for variables up to here."""
    facts: Mapping[str, bool] = {}
    """Conditions about the submission that are known on this way."""
    events: tuple[Event, ...] = ()
    ended: bool = False

    def name(self, name: str) -> Name | None:
        """Return what a variable is."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def know(self, condition: str, truth: bool) -> "Way":
        """Return the state in which a condition is known, unless a call may give another value."""
        facts = self.facts if "(" in condition else {**self.facts, condition: truth}
        return self._replace(facts=facts)

    def add(self, event: Event) -> "Way":
        """Return the state after an event; what the submission does may change what was known."""
        facts = {} if event.kind == "do" else self.facts
        return self._replace(events=(*self.events, event), facts=facts)


class Ways:
    """Follows a test for one row."""

    def __init__(self, source: str, file: File, row: TableRow, reporter: str) -> None:
        self._source = source
        self._file = file
        self._row = row
        self._reporter = reporter
        self._unknown = dict[str, bool]()

    def passing(self, statements: Sequence[Statement]) -> tuple[Event, ...]:
        """Return what happens if the test passes.

        Raises:
            SuiteError: There is no such way, or more than one.
        """
        names = {name for name in (self._row.name, self._reporter, *self._row.variables) if name}
        start = Way(({name: Name(name, "pure") for name in names}, {}), frozenset(names))
        ways = [state.events for state in self._run(statements, start)]
        last = statements[-1].tokens if statements else ()
        if not ways:
            self._refuse("no answer can pass a test", last)
        if len(ways) > 1 or any(event.kind == "differs" for event in ways[0]):
            self._refuse("answers of several values can pass a test", last)
        if all(event.kind in ("pure", "do") for event in ways[0]):
            self._refuse("a test looks at no value", last)
        return ways[0]

    def _refuse(self, why: str, tokens: Tokens) -> NoReturn:
        """Refuse the tests because of some of their source."""
        refuse(why, text_of(self._source, tokens) if tokens and tokens[0].end else "the test")

    def _run(self, statements: Sequence[Statement], state: Way) -> list[Way]:
        """Return the ends of the ways through some statements, without those that fail."""
        states = [state]
        for statement in statements:
            states = [
                after
                for each in states
                for after in ([each] if each.ended else self._step(statement, each))
            ]
            if len(states) > _MOST_WAYS:
                self._refuse("there are too many ways through a test", statement.tokens)
        return states

    def _step(self, statement: Statement, state: Way) -> list[Way]:
        if isinstance(statement, Simple):
            return self._simple(statement.tokens, state)
        texts = texts_of(statement.tokens)
        is_loop = isinstance(statement, Loop)
        leaves = "return" in texts or (not is_loop and ("continue" in texts or "break" in texts))
        checks = leaves or self._reporter in texts
        if not checks and (is_loop or self._is_pure(statement, state)):
            return [self._whole(statement, state)]
        if is_loop:
            self._refuse("an assertion is in a loop", statement.tokens)
        inner = state._replace(scopes=(*state.scopes, {}))
        if isinstance(statement, If):
            before = self._simple(statement.init, inner) if statement.init else [inner]
            after = [
                end
                for each in before
                for found, truth in self._condition(statement.condition, each)
                for end in self._run(statement.then if truth else statement.other, found)
            ]
        else:
            after = self._run(statement.body, inner)
        return [each._replace(scopes=each.scopes[: len(state.scopes)]) for each in after]

    def _is_pure(self, statement: Statement, state: Way) -> bool:
        return self._kind(statement.tokens, self._with_locals(statement, state)) == "pure"

    def _with_locals(self, statement: Statement, state: Way) -> Way:
        """Return a state in which the variables that a statement defines are known."""
        tokens, local = statement.tokens, dict[str, Name]()
        for index, token in enumerate(tokens):
            if token.text == ":=":
                local |= {
                    each.text: Name(each.text, "pure")
                    for each in words_before(tokens, index)
                    if each.kind == "word" and each.text not in KEYWORDS
                }
        return state._replace(scopes=(*state.scopes, local))

    def _whole(self, statement: Statement, state: Way) -> Way:
        """Return the state after a statement that runs as it is."""
        inner = self._with_locals(statement, state)
        text, kind = self._text(statement.tokens, inner), self._kind(statement.tokens, inner)
        if kind == "pure":
            return state.add(Event("pure", text, names=_emitted(changed_by(statement), state)))
        found = self._looped(statement, inner)
        for name in set_in(statement.tokens):
            was, now = state.name(name), found.name(name)
            if was is not None and now is not None:
                # It may depend on more than the submission whether this is set.
                kind = "own" if now.kind == "own" else "mixed"
                state = _renamed(state, name, was._replace(kind=kind))
        return state.add(Event("do", text))

    def _looped(self, statement: Statement, state: Way) -> Way:
        """Return the state after all assignments in a statement, one after another."""
        if isinstance(statement, Simple):
            if statement.tokens[0].text in ("break", "continue"):
                return state
            (after,) = self._simple(statement.tokens, state)
            return after
        parts = (
            [*statement.body]
            if not isinstance(statement, If)
            else [
                *([Simple(statement.init)] if statement.init else ()),
                *statement.then,
                *statement.other,
            ]
        )
        if isinstance(statement, Loop):
            names, *more = split(statement.head, ":=")
            source = more[0][1:] if more and more[0][0].text == "range" else ()
            kind = self._kind(source, state) if source else "mixed"
            if kind != "pure" and source and self._is_own(source, state):
                kind = "own"
            local = {name: Name(name, kind) for name in (names_of(names) if more else ())}
            state = state._replace(scopes=(*state.scopes, local))
        for each in parts:
            state = self._looped(each, state)
        return state

    def _simple(self, tokens: Tokens, state: Way) -> list[Way]:
        texts = texts_of(tokens)
        if texts[:2] == [self._reporter, "."]:
            if texts[2] in _FAILS:
                return []
            if texts[2] in HARMLESS:
                return [state]
            self._refuse("a statement is of an unknown kind", tokens)
        if texts[0] in ("return", "continue"):
            if len(tokens) > 1:
                self._refuse("a statement is of an unknown kind", tokens)
            return [state._replace(ended=True)]
        if texts[0] in ("break", "const"):
            self._refuse("a statement is of an unknown kind", tokens)
        left, sign, right = assignment(tokens)
        kind = self._kind(right, state)
        if self._reporter in texts and (kind != "pure" or "func" in texts):
            self._refuse("a function of the tests checks a value", tokens)
        if sign == ":=" and len(tokens) == 3 and texts[0] == texts[2]:
            return [state]
        return [self._assigned(tokens, left, sign, right, state)]

    def _assigned(
        self, tokens: Tokens, left: Sequence[Tokens], sign: str, right: Tokens, state: Way
    ) -> Way:
        """Return the state after a simple statement."""
        kind = self._kind(right, state)
        if kind != "pure":
            plain = sign in (":=", "=") and self._gives_own(left, right, state)
            kind = "own" if plain else "mixed"
        targets = [each[0].text for each in left if each and each[0].text != "_"]
        if self._row.name in targets:
            self._refuse("a row of a table is changed", tokens)
        defines = sign == ":=" or tokens[0].text == "var"
        is_whole = defines or all(len(each) == 1 for each in left)
        touched, defined = kind != "pure", list[str]()
        for name in targets:
            known = state.name(name)
            if defines and name not in state.scopes[-1]:
                emitted = name
                while emitted in state.taken or emitted in self._file.declared:
                    emitted += "_"
                state = state._replace(taken=state.taken | {emitted})
                state = _renamed(state, name, Name(emitted, kind), is_new=True)
                defined.append(emitted)
            elif known is not None:
                touched |= known.kind != "pure"
                is_own = kind == "own" and is_whole
                now = "own" if is_own else "mixed" if touched else "pure"
                state = _renamed(state, name, known._replace(kind=now))
        text = self._text(tokens, state)
        if defined:
            text += "\n" + "; ".join(f"_ = {name}" for name in defined)
        if touched:
            return state.add(Event("do", text))
        return state.add(Event("pure", text, names=_emitted(changed_by(Simple(tokens)), state)))

    def _gives_own(self, left: Sequence[Tokens], right: Tokens, state: Way) -> bool:
        """Tell whether what is assigned are values of the submission."""
        values = split(right, ",")
        appended = ["append", "(", *texts_of(left[0])] if len(left) == 1 else []
        if appended and texts_of(right[: len(appended)]) == appended:
            values = split(right[4:-1], ",")[1:]
        return all(self._is_own(each, state) for each in values)

    def _kind(self, tokens: Tokens, state: Way) -> str:
        """Return `pure` if an expression does not depend on the submission."""
        for name in names_of(tokens):
            known = state.name(name)
            if known is not None:
                if known.kind != "pure":
                    return "mixed"
            elif self._is_of_submission(name):
                return "mixed"
        return "pure"

    def _is_of_submission(self, name: str) -> bool:
        """Tell whether a name of the package is the submission's, or is defined with its names."""
        if name not in self._unknown:
            self._unknown[name] = bool(unknown([name], self._file))
        return self._unknown[name]

    def _is_own(self, tokens: Tokens, state: Way) -> bool:
        """Tell whether an expression is a value of the submission, or a part of one."""
        while is_around(tokens) or (tokens and tokens[0].text in ("&", "*")):
            tokens = tokens[1:-1] if tokens[0].text == "(" else tokens[1:]
        if not tokens:
            return False
        first, at = tokens[0], 1
        known = state.name(first.text)
        if first.text == "[":
            at = end_of_type(tokens, 0)
            return (
                tokens[at : at + 1] != []
                and tokens[at].text == "("
                and close(tokens, at) == len(tokens) - 1
                and self._is_own(tokens[at + 1 : -1], state)
            )
        if first.kind != "word" or first.text in KEYWORDS:
            return False
        if known is None and (first.text in PREDECLARED or first.text in self._file.packages):
            at = 3 if first.text in self._file.packages else 1
            if first.text in ("append", "copy", "new") or texts_of(tokens[at : at + 1]) != ["("]:
                return False
            end = close(tokens, at)
            arguments = split(tokens[at + 1 : end], ",")
            if not all(self._is_own(each, state) for each in arguments):
                return False
            at = end + 1
        elif known is not None:
            if known.kind != "own":
                return False
        elif first.text in self._file.declared or not self._is_of_submission(first.text):
            return False
        while at < len(tokens):
            if tokens[at].text in ("(", "[", "{"):
                at = close(tokens, at) + 1
            elif tokens[at].text == "." and at + 1 < len(tokens):
                at += 1 if tokens[at + 1].text == "(" else 2
            else:
                return False
        return True

    def _text(self, tokens: Tokens, state: Way) -> str:
        """Return the source of tokens, with the names that our program has for variables."""
        parts = list[str]()
        at = tokens[0].start
        for index, token in enumerate(tokens):
            known = state.name(token.text) if token.kind == "word" else None
            if known is None or known.emitted == token.text:
                continue
            if index and tokens[index - 1].text == ".":
                continue
            parts += [self._source[at : token.start], known.emitted]
            at = token.end
        return "".join([*parts, self._source[at : tokens[-1].end]])

    def _condition(self, tokens: Tokens, state: Way) -> list[tuple[Way, bool]]:
        """Return the states in which a condition is true or false."""
        while is_around(tokens):
            tokens = tokens[1:-1]
        for sign, stops in (("||", True), ("&&", False)):
            parts = split(tokens, sign)
            if len(parts) > 1:
                open_, closed = [state], list[tuple[Way, bool]]()
                for part in parts:
                    found = [each for one in open_ for each in self._condition(part, one)]
                    closed += [(each, truth) for each, truth in found if truth is stops]
                    open_ = [each for each, truth in found if truth is not stops]
                return [*closed, *((each, not stops) for each in open_)]
        if tokens[:1] and tokens[0].text == "!":
            return [(each, not truth) for each, truth in self._condition(tokens[1:], state)]
        if self._kind(tokens, state) == "pure":
            return [(state, decided(tokens, self._row))]
        for sign in ("==", "!="):
            sides = split(tokens, sign)
            if len(sides) == 2:
                return [
                    (each, truth is (sign == "=="))
                    for each, truth in self._compared(tokens, sides[0], sides[1], "", state)
                ]
        name = "".join(texts_of(tokens[:3]))
        if name in _EQUALITIES and close(tokens, 3) == len(tokens) - 1:
            one, other, *more = split(tokens[4:-1], ",")
            if not any(more):
                return self._compared(tokens, one, other, _EQUALITIES[name], state)
        if tokens[-1].text == ")":
            last = len(tokens) - 1
            opened = next(at for at in range(last) if close_or(tokens, at) == last)
            if texts_of(tokens[opened - 2 : opened]) == [".", "Equal"]:
                one, other = tokens[: opened - 2], tokens[opened + 1 : -1]
                if "pure" in (self._kind(one, state), self._kind(other, state)):
                    return self._compared(tokens, one, other, "instantForTests", state)
        if not self._is_own(tokens, state):
            self._refuse("a condition is about more than a value of the submission", tokens)
        return self._branches(self._text(tokens, state), state)

    def _branches(self, text: str, state: Way) -> list[tuple[Way, bool]]:
        """Return the states in which a condition about the submission is true or false."""
        shown = " ".join(text.split())
        if shown in state.facts:
            return [(state, state.facts[shown])]
        return [
            (
                state.add(Event("is", text, truth=str(truth).lower())).know(shown, truth),
                truth,
            )
            for truth in (True, False)
        ]

    def _compared(
        self, tokens: Tokens, one: Tokens, other: Tokens, how: str, state: Way
    ) -> list[tuple[Way, bool]]:
        """Return the states in which two values are equal or not."""
        for condition, truth_of_row in ((one, other), (other, one)):
            if is_around(condition) and self._kind(truth_of_row, state) == "pure":
                wanted = decided(truth_of_row, self._row)
                return [
                    (each, truth is wanted) for each, truth in self._condition(condition, state)
                ]
        if self._kind(one, state) == "pure":
            one, other = other, one
        if self._kind(other, state) != "pure":
            self._refuse("the tests expect what the submission computes", tokens)
        if not self._is_own(one, state):
            self._refuse("a condition is about more than a value of the submission", tokens)
        actual, expected = self._text(one, state), self._text(other, state)
        if expected == "nil":
            return self._branches(f"{actual} == nil", state)
        if expected in ("true", "false"):
            return [
                (each, truth is (expected == "true"))
                for each, truth in self._branches(actual, state)
            ]
        how = how or ("looseForTests" if self._is_constant(other) else "equalForTests")
        shown = " ".join(actual.split())
        equal = state.add(Event("show", actual, expected, how))
        try:
            value = value_of(other, self._row)
        except SuiteError:
            value = None
        if isinstance(value, bool):
            if shown in state.facts:
                return [(state, state.facts[shown] is value)]
            equal = equal.know(shown, value)
            if shown in equal.facts:
                event = equal.events[-1]._replace(truth=str(value).lower())
                equal = equal._replace(events=(*equal.events[:-1], event))
        return [(equal, True), (state.add(Event("differs", actual)), False)]

    def _is_constant(self, tokens: Tokens) -> bool:
        """Tell whether an expression may be a constant without a type."""
        return all(
            name in self._file.declared and self._file.declared[name].kind == "const"
            for name in names_of(tokens)
        )


def _renamed(state: Way, name: str, to: Name, *, is_new: bool = False) -> Way:
    """Return the state in which a variable is something else."""
    scopes = list(state.scopes)
    at = next(
        (index for index in reversed(range(len(scopes))) if name in scopes[index]), len(scopes) - 1
    )
    at = len(scopes) - 1 if is_new else at
    scopes[at] = {**scopes[at], name: to}
    return state._replace(scopes=tuple(scopes))


def _emitted(names: Iterable[str], state: Way) -> frozenset[str]:
    """Return our program's names of some variables."""
    return frozenset(known.emitted for name in names if (known := state.name(name)) is not None)
