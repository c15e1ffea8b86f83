"""Makes suites with some expectations changed. None of them can be told from the original."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from grader.model import PytestTests, ScriptTests, SuiteFile
from grader.twins.cases import CaseKey
from grader.twins.site import Site
from grader.twins.source import Edit, edited
from grader.twins.tests import SETUP
from grader.twins.units import Pick, Unit, find_units

_VALUES = {1: 6, 2: 3}
"""How many values each expectation has in turn, by the number of units that can change alone. If
there are more units, fewer values are enough: code must guess the right one of each."""
_FEWEST_VALUES = 2


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A suite with some expectations changed."""

    tests: ScriptTests | PytestTests
    changed: Sequence[Pick]
    """What was changed, at most once for each case."""

    def pick(self, key: CaseKey) -> Pick | None:
        """Return what was changed of a case, which a right program then fails."""
        return self._picks.get(key) or self._picks.get(key.test)

    @cached_property
    def _picks(self) -> Mapping[CaseKey, Pick]:
        return {case: pick for pick in self.changed for case in pick.site.cases}


class Lineup:
    """A suite's units, each with the values that its expectations have in turn.

    One of the values is the right one, and each occurs equally often. So code that knows what
    earlier runs of the suite expected does not know which of the values are right.
    """

    def __init__(
        self, tests: ScriptTests | PytestTests, sites: Sequence[Site], rng: Random
    ) -> None:
        """Choose the values.

        Args:
            tests: The suite.
            sites: What can be changed.
            rng: The source of the secret; `random.SystemRandom()` outside of tests.
        """
        self._tests = tests
        self._rng = rng
        units = find_units(sites, rng)
        most = _VALUES.get(len(units), _FEWEST_VALUES)
        self._values: dict[Unit, tuple[Pick | None, ...]] = {
            unit: (None, *unit.picks(most - 1, rng)) for unit in units
        }
        self._unit_of = {case: unit for unit in units for case in unit.cases}

    @property
    def units(self) -> Collection[Unit]:
        """The cases that can change, by those that change together."""
        return self._values.keys()

    def has(self, key: CaseKey) -> bool:
        """Tell whether a case can change."""
        return self._unit(key) is not None

    def shows(self, key: CaseKey) -> bool:
        """Tell whether a change shows each wrong value that a case might let pass."""
        unit = self._unit(key)
        return unit is not None and not any(site.blind or site.has_blind for site in unit.sites)

    def _unit(self, key: CaseKey) -> Unit | None:
        return self._unit_of.get(key) or self._unit_of.get(key.test)

    def twins(self, keys: Collection[CaseKey] | None = None) -> Iterator[Twin]:
        """Yield suites in a secret order; each expectation has each of its values equally often.

        Args:
            keys: The cases to change; by default all that have an expectation that can change.
        """
        units = self._units(keys)
        runs = max((len(self._values[unit]) for unit in units), default=1)
        yield from self._line_up([(unit, self._column(unit, runs)) for unit in units], runs)

    def _units(self, keys: Collection[CaseKey] | None) -> list[Unit]:
        if keys is None:
            return [*self._values]
        return [*dict.fromkeys(unit for unit in map(self._unit, keys) if unit is not None)]

    def _column(self, unit: Unit, runs: int) -> list[Pick | None]:
        """Return the value of a unit in each run. As far as possible, all occur equally often."""
        values = self._values[unit]
        times, rest = divmod(runs, len(values))
        column = [*values * times, *self._rng.sample(values, rest)]
        self._rng.shuffle(column)
        return column

    def _line_up(
        self, columns: Sequence[tuple[Unit, Sequence[Pick | None]]], runs: int
    ) -> Iterator[Twin]:
        for run in range(runs):
            picks = [column[run] for _, column in columns]
            yield make_twin(self._tests, [pick for pick in picks if pick is not None])


def make_twin(tests: ScriptTests | PytestTests, picks: Sequence[Pick]) -> Twin:
    """Return a suite with changes made, which must not overlap."""
    edits: dict[str, list[Edit]] = {}
    for pick in picks:
        edits.setdefault(pick.site.source, []).extend(pick.change)
    return Twin(tests=_rewritten(tests, edits), changed=tuple(picks))


def _rewritten(
    tests: ScriptTests | PytestTests, edits: Mapping[str, Sequence[Edit]]
) -> ScriptTests | PytestTests:
    """Return a suite with edits made in its sources, by name."""
    if isinstance(tests, ScriptTests):
        cases = tuple(
            replace(case, source=edited(case.source.encode(), edits[case.id]).decode())
            if case.id in edits
            else case
            for case in tests.cases
        )
        if SETUP in edits:
            tests = replace(tests, setup=edited(tests.setup.encode(), edits[SETUP]).decode())
        return replace(tests, cases=cases)
    files = tuple(
        SuiteFile(path=file.path, content=edited(file.content, edits[file.path]))
        if file.path in edits
        else file
        for file in tests.files
    )
    return replace(tests, files=files)
