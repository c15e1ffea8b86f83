"""Whatever a submission sends to a judge that stays, the next ones get what a new one would give.

Each poison is one encoded value in one place of the conversation, before tests that do with it
what scripts do with answers. After each, tests that look at the judge's process find it as it was,
and plain right and wrong functions get their verdicts there.
"""

import itertools
import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from grader.model import ScriptCase, ScriptTests
from grader.model.verdict import Verdict
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Sandbox, Slot
from grader.sandbox.payload import Apart
from grader.source.by_value import find_apart
from tests.hostile.conftest import MEMORY_BYTES
from tests.hostile.judged_suites import LIMITS, Suite, grade
from tests.hostile.test_conversation import FORGE

USES = """
f(1); sorted([3, 1])
x = [3, 1]; f(x); sorted(x)
str(f(1)), f'{f(2)}', f(3) == 9, f(4) in {4: 1}
len(f(1)), list(f(2)), f(3)[0]
from copy import deepcopy; deepcopy([f(1)])
from typing import List, Optional; List[f(1)], Optional[f(2)]
from collections import Counter; Counter(f(1)) == Counter(f(2))
from fractions import Fraction; isinstance(f(1), Fraction) or Fraction(f(2))
from decimal import Decimal; Decimal(1) / Decimal(f(1))
import json; json.dumps(f(1)); json.loads(f(2))
from functools import reduce; reduce(lambda a, b: a + b, f(1))
import re; re.compile(f(1)).match(f(2))
import math; math.factorial(f(1)), math.gcd(f(2), 3)
print(f(1), end=f(2))
raise f(1)
""".strip().splitlines()
"""What scripts do with an answer. Most of it fails for most answers, at some step."""

VALUES = """
None|True|-1|1.5|''|'9'|'\\ud800'|'\\0'|'x'*70000|[]|[[]]*999|{}|{'?':1}|{'t':1}|{'@':0}|[{'@':0}]
{'i':'0x9'}|{'i':'0x'+'f'*9999}|{'f':'nan'}|{'c':[1,2]}|{'b':'AA=='}|{'B':'AA=='}|{'t':[1,2]}
{'s':[1,2]}|{'S':[1]}|{'s':[{'i':hex(k*(2**61-1))}for k in range(99)]}|{'d':[['a',9]]}
{'D':'sNaN'}|{'D':'1'}|{'D':'1E+999'}|{'F':[1,3]}|{'F':[1,0]}|{'T':['date','2020-01-01']}|{'n':['<i8',[0],'']}
{'M':'os'}|{'g':['builtins','type']}|{'x':{'j':0}}|{'x':{'c':0,'k':0}}
""".replace("\n", "|").strip("|").split("|")  # fmt: skip
"""Encoded values (`wire.values`), and texts that are not."""

PLACES = {
    "answered": "forge(lambda m: ['ret', VALUE])\nf = start\n",
    "raised within": "forge(lambda m: ['exc', ['ValueError', {'t': [VALUE]}], []])\nf = start\n",
    "raised at": "forge(lambda m: ['exc', ['KeyError', {'t': [1]}], [VALUE]])\nf = start\n",
    "refused": "forge(lambda m: ['no', VALUE])\nf = start\n",
    "loaded": "forge(lambda m: ['loaded', {'f': VALUE}], always=True)\ndef f(x): return x\n",
}

LOOK = r"""
import builtins, copyreg, decimal, gc, json, numbers, os, sys, types, warnings
sys.runs = getattr(sys, "runs", 0) + 1
OBSERVED = tuple(
    "builtins sys sandbox bisect collections copy datetime decimal fractions functools heapq "
    "itertools json math numbers operator random re statistics string typing".split()
)
CACHES = ("__slotnames__", "_cache", "_cache2", "cache", "path_importer_cache", "_abc_impl")
def members(module):
    for name, value in sorted(vars(module).items()):
        if name in CACHES or module is sys and name in ("runs", "last_value", "_git", "modules"):
            continue
        yield name, id(value), len(value) if isinstance(value, (dict, list, set)) else 0
        if isinstance(value, types.FunctionType):
            yield id(value.__code__), id(value.__defaults__), sorted(vars(value))
        if isinstance(value, type):
            own = sorted(vars(value).items())
            yield [(key, id(each)) for key, each in own if key not in CACHES]
found = {
    name: hash(repr(list(members(module))))
    for name, module in sorted(sys.modules.items())
    if type(module) is types.ModuleType and name.startswith(OBSERVED) and name != "linecache"
}
found["names of modules"] = sorted(sys.modules)
found["streams"] = [sys.stdin.closed, sys.stdout.closed, sys.stdout.errors, sys.stderr.errors]
found["settings"] = [sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()]
found["hooks"] = [str(sys.gettrace()), str(sys.getprofile()), sys.path, sys.argv]
found["warnings"] = [str(each) for each in warnings.filters]
found["arithmetic"] = str(decimal.getcontext())
found["collector"] = [gc.isenabled(), gc.get_threshold(), gc.get_debug(), len(gc.callbacks)]
found["kinds of numbers"] = [issubclass(each, numbers.Rational) for each in (int, float, str)]
found["place"] = [os.getcwd(), sorted(os.environ.items()), os.listdir("/work"), os.listdir("/tmp")]
found["process"] = [os.listdir("/proc/self/fd"), os.listdir("/proc/self/task")]
found["signals"] = [line for line in open("/proc/self/status") if line[:3] in ("Sig", "Cap")]
gc.collect()
print(json.dumps([sys.runs, len(gc.get_objects()), found]))
"""
APART = Apart(names=("f", "right", "wrong"), watched=False)
PROBE = "def right(x):\n    return x * x\ndef wrong(x):\n    return x + x\n"
MOST_OBJECTS_MORE = 2000
"""How many objects there may be at any time beyond those at first. A leak exceeds any bound."""


@pytest.fixture(scope="module")
def slot(sandbox: Sandbox) -> Iterator[Slot]:
    with closing(sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)) as opened:
        yield opened


def judge(slot: Slot, source: str, *cases: str, setup: str = "") -> RunOutcome:
    batch = RunBatch(
        program=Program.SCRIPT,
        source=source,
        runs=(payload.script(setup, cases, stop_early=False, apart=APART),),
        limits=replace(LIMITS, memory_bytes=MEMORY_BYTES),
        split=True,
        standing=True,
    )
    (outcome,) = slot.run(batch)
    return outcome


def outcomes(outcome: RunOutcome) -> list[str]:
    events = [json.loads(line) for line in outcome.report.splitlines()]
    return [event["outcome"] for event in events if event["e"] == "case"]


def look(slot: Slot) -> tuple[int, int, dict[str, Any]]:
    """Return how often the judge has looked, how many objects it has, and what it found."""
    outcome = judge(slot, PROBE, "assert right(3) == 9", "assert wrong(3) == 9", setup=LOOK)
    assert outcomes(outcome) == ["passed", "failed"], outcome
    runs, objects, found = json.loads(outcome.stdout)
    return runs, objects, found


def test_what_the_tests_do_is_what_may_be_done_where_others_are_judged() -> None:
    for use in USES:
        assert find_apart(ScriptTests(cases=(ScriptCase(id="0", source=use),))), use


def poison(slot: Slot, value: str, place: str, use: str) -> None:
    """Run a submission that sends a value, in a place of an answer, to tests that use it."""
    judge(slot, f"{FORGE}VALUE = {value}\n{PLACES[place]}", *USES[:3], use)


def check_that_nothing_stays(slot: Slot, poisons: Iterable[tuple[str, str, str]]) -> None:
    look(slot)
    runs, objects, before = look(slot)
    stayed = 0
    for each in poisons:
        poison(slot, *each)
        runs_now, objects_now, after = look(slot)
        if runs_now > runs:
            stayed += 1
            changed = {name for name in before | after if before.get(name) != after.get(name)}
            assert not changed, (each, [(before.get(name), after.get(name)) for name in changed])
            assert objects_now < objects + MOST_OBJECTS_MORE, each
        runs, before = runs_now, after
    assert stayed > 3  # else all of them ended the judge, and nothing was tested


def test_no_value_changes_the_judge_for_the_next(slot: Slot) -> None:
    places, uses = itertools.cycle(PLACES), itertools.cycle(USES)
    check_that_nothing_stays(slot, zip(VALUES[::3], places, uses, strict=False))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("place", PLACES)
def test_no_value_in_any_place_changes_the_judge_for_the_next(slot: Slot, place: str) -> None:
    poisons = ((value, place, use) for value, use in zip(VALUES, itertools.cycle(USES)))
    check_that_nothing_stays(slot, poisons)


LABELS = {
    "a pattern that reaches globals": (
        "import random\nmatch random.shuffle:\n"
        "    case object(__func__=object(__globals__=g)): g['__builtins__']['abs'] = lambda x: 0",
        ("def f(x): return 5\n", "assert abs(f(3) - 9) < 1e-6"),
    ),
    "a class that is said to be the base of another": (
        "from fractions import Fraction\nFraction.register(float)",
        (
            "def f(x): return 9.0\n",
            "from fractions import Fraction\nassert isinstance(f(3), Fraction)",
        ),
    ),
    "a class made by a call, which is copied into another": (
        "import copy\nfrom collections import Counter\n"
        "to_counter = lambda s, p: (lambda: Counter, (), (None, {'__eq__': lambda a, b: True}))\n"
        "copy.copy(type('X', (), {'__reduce_ex__': to_counter})())",
        (
            "def f(x): return __import__('collections').Counter('b')\n",
            "from collections import Counter\nassert f(3) == Counter('a')",
        ),
    ),
    "a module that only the submission imports": (
        "decimal.setcontext(decimal.Context(prec=3))",
        (
            "from decimal import Decimal\ndef f(x): return Decimal('0.333')\n",
            "from decimal import Decimal\nassert f(3) == Decimal(1) / 3",
        ),
    ),
    "a module that the submission imports by another name": (
        "d.setcontext(d.Context(prec=3))",
        (
            "from decimal import Decimal\ndef f(x): return Decimal('0.333')\n",
            "from decimal import Decimal\nassert f(3) == Decimal(1) / 3",
        ),
    ),
}
"""What a label's tests do, and a wrong submission to others that would pass in its wake."""


@pytest.mark.parametrize("name", LABELS)
def test_tests_of_one_label_do_not_judge_those_of_another(slot: Slot, name: str) -> None:
    poison, (wrong, case) = LABELS[name]
    own = "import decimal, decimal as d, random\ndef f(x): return x\n"
    (first,) = grade(slot, Suite(right="", cases=[poison]), own).cases
    assert first.verdict is Verdict.PASSED, first.feedback  # it did what it set out to do
    (after,) = grade(slot, Suite(right="", cases=[case]), wrong).cases
    assert after.verdict is Verdict.FAILED, after.feedback
