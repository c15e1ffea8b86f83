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

from grader.execution.standing import leaves_no_trace
from grader.model import ScriptCase, ScriptTests
from grader.sandbox import payload
from grader.sandbox.base import Job, Program, RunOutcome, Sandbox, Slot
from grader.verdict import Verdict
from tests.hostile.conftest import MEMORY_BYTES
from tests.hostile.splitting import LIMITS, Suite, run
from tests.hostile.test_split_protocol import FORGE

USES = """
f(lambda g, *others: g(*others) if callable(g) else g)
x = [3, 1]; f(x); sorted(x)
str(f(1)), f'{f(2)}', f(3) == 9, f in {f(4): 1}
len(f(1)), list(f(2)), f(3)[0]
from copy import deepcopy; deepcopy([f(1)])
from typing import List, Optional; List[f(1)], Optional[f(2)]
from collections import Counter; Counter(f(1)) == Counter(f(2))
from fractions import Fraction; isinstance(f(1), Fraction) or Fraction(f(2))
from decimal import Decimal; Decimal(1) / Decimal(f(1))
import random; random.seed(f(1)); random.shuffle(f(2))
import json; json.dumps(f(1)); json.loads(f(2))
from functools import lru_cache; lru_cache(f)(1)
print(f(1), file=f(2))
raise f(1)
""".strip().splitlines()
"""What scripts do with an answer; most fails over most answers, at one step or another."""

VALUES = """
None|True|-1|1.5|''|'9'|'\\ud800'|'\\0'|'x'*70000|[]|[[]]*999|{}|{'?':1}|{'t':1}|{'@':0}|[{'@':0}]
{'i':'0x9'}|{'i':'0x'+'f'*9999}|{'f':'nan'}|{'c':[1,2]}|{'b':'AA=='}|{'B':'AA=='}|{'t':[1,2]}
{'s':[1,2]}|{'S':[1]}|{'s':[{'i':hex(k*(2**61-1))}for k in range(99)]}|{'d':[['a',9]]}
{'C':[['a',1]]}
{'O':[[1,2]]}|{'q':[[1,2],1]}|{'e':[None,[]]}|{'e':[{'g':['builtins','list']},[[1,[]]]]}
{'D':'sNaN'}|{'D':'1'}|{'D':'1E+999'}|{'F':[1,3]}|{'F':[1,0]}|{'T':['date','2020-01-01']}|{'n':['<i8',[0],'']}
{'r':[0,9,1]}|{'l':[0,1,2]}|{'y':'Ellipsis'}|{'y':'NotImplemented'}|{'P':'/etc/passwd'}
{'M':'os'}|{'M':'sys'}|{'M':'builtins'}|{'M':'random'}|{'M':'decimal'}|{'M':'rlcompleter'}|{'M':'nis'}
{'M':'asyncio.windows_events'}|{'M':'__main__'}|{'M':'logging.config'}|{'M':'encodings.idna'}
{'g':['builtins','int']}|{'g':['builtins','max']}|{'g':['builtins','type']}|{'g':['builtins','dict']}
{'g':['builtins','Exception']}|{'g':['builtins','SystemExit']}|{'g':['builtins','StopIteration']}
{'g':['builtins','UnicodeError']}|{'g':['builtins','ExceptionGroup']}|{'g':['builtins','open']}
{'g':['collections','Counter']}|{'g':['fractions','Fraction']}|{'g':['numbers','Number.register']}
{'g':['decimal','setcontext']}|{'g':['decimal','Inexact']}|{'g':['random','seed']}|{'g':['gc','disable']}
{'g':['sys','setrecursionlimit']}|{'g':['warnings','simplefilter']}|{'g':['re','purge']}
{'g':['urllib.error','HTTPError']}|{'g':['zoneinfo','ZoneInfoNotFoundError']}|{'g':['abc','ABCMeta']}
{'g':['itertools','count']}|{'g':['operator','itemgetter']}|{'g':['functools','partial']}
{'x':{'j':0}}|{'x':{'judge':0}}|{'x':{'module':'gc'}}|{'x':{'c':0,'k':0}}|{'x':{'k':0}}|{'x':{'k':1}}
{'x':{'c':1,'k':0,'how':'coroutine'}}|{'x':{'c':2,'k':0,'how':'asyncgen'}}|{'x':{'c':9,'k':9}}
{'x':{'c':3,'k':1,'exception':{'args':[1]}}}|{'x':{'c':4,'k':2,'data':9}}
{'x':{'c':5,'k':3,'data':[1]}}|{'x':{'c':6,'k':4,'data':{'d':[[1,2]]}}}|{'x':{'c':7,'k':5,'data':'9'}}|{'x':{'c':8,'k':6}}
""".replace("\n", "|").strip("|").split("|")  # fmt: skip
"""Encoded values (`harness.values`, `harness.split.codec`); with `x`, objects of OBJECTS."""

OBJECTS = """
class Plain: pass
class Error(Exception): pass
class Int(int):
    __eq__ = lambda self, other: True
    __hash__ = int.__hash__
class List(list):
    __eq__ = lambda self, other: True
class Dict(dict): pass
class Text(str): pass
class Hooks:
    __eq__ = __ne__ = __lt__ = __contains__ = lambda self, other: True
    __hash__ = __len__ = __index__ = lambda self: 1
    __iter__ = lambda self: iter([1, 2])
    __reduce_ex__ = __copy__ = __deepcopy__ = lambda self, *args: print
    write = __call__ = lambda self, *args, **kwargs: self
import gc
Candidate = sys.modules['sandbox_images.harness.split.candidate'].Candidate
(candidate,) = [each for each in gc.get_objects() if type(each) is Candidate]
for kind in (Plain, Error, Int, List, Dict, Text, Hooks):
    candidate._class_number(kind)
plain = (Plain(), Plain(), Plain(), Error(1))
for thing in (*plain, Int(9), List([1]), Dict({1: 2}), Text('9'), Hooks()):
    candidate._object_number(thing)
"""

RAISED = "['exc', dict(type={}, text='', args={}, trace=[], c=99), None, None]"
ANSWERS = "forge(lambda message: {})\nf = start\n"
PLACES = {
    "returned": ANSWERS.format("['ret', VALUE, None, None]"),
    "returned within": ANSWERS.format("['ret', [VALUE, {'t': [VALUE]}], None, None]"),
    "raised": ANSWERS.format(RAISED.format("VALUE", "['a', 1]")),
    "raised within": ANSWERS.format(RAISED.format("{'g': ['builtins', 'ValueError']}", "[VALUE]")),
    "changed": ANSWERS.format("['ret', None, [{'t': [VALUE]}, {'t': []}], None]"),
    "printed": ANSWERS.format("['ret', None, None, [VALUE, '9']]"),
    "asked": "def f(*args): return ask('call', 0, [VALUE, VALUE], {'d': []})[1]\n",
    "set": "def f(*args): return ask('set', 0, ['x', VALUE], {'d': []})[1]\n",
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
CANARY = "def right(x):\n    return x * x\ndef wrong(x):\n    return x + x\n"
MOST_OBJECTS_MORE = 2000
"""How many more objects than at first there may be at any time; a leak has no such bound."""


@pytest.fixture(scope="module")
def slot(sandbox: Sandbox) -> Iterator[Slot]:
    with closing(sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)) as opened:
        yield opened


def judge(slot: Slot, source: str, *cases: str, setup: str = "") -> RunOutcome:
    job = Job(
        program=Program.SCRIPT,
        source=source,
        runs=(payload.script(setup, cases, stop_early=False),),
        limits=replace(LIMITS, memory_bytes=MEMORY_BYTES),
        split=True,
        standing=True,
    )
    (outcome,) = slot.run(job)
    return outcome


def outcomes(outcome: RunOutcome) -> list[str]:
    events = [json.loads(line) for line in outcome.report.splitlines()]
    return [event["outcome"] for event in events if event["e"] == "case"]


def look(slot: Slot) -> tuple[int, int, dict[str, Any]]:
    """Return how often the judge has looked, how many objects it has, and what it found."""
    outcome = judge(slot, CANARY, "assert right(3) == 9", "assert wrong(3) == 9", setup=LOOK)
    assert outcomes(outcome) == ["passed", "failed"], outcome
    runs, objects, found = json.loads(outcome.stdout)
    return runs, objects, found


def test_what_the_tests_do_is_what_may_be_done_where_others_are_judged() -> None:
    assert all(leaves_no_trace(ScriptTests(cases=(ScriptCase(id="0", source=u),))) for u in USES)


def poison(slot: Slot, value: str, place: str, use: str) -> None:
    """Run a submission that sends a value, in a place of an answer, to tests that use it."""
    judge(slot, f"{FORGE}{OBJECTS}VALUE = {value}\n{PLACES[place]}", *USES[:3], use)


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
    assert stayed > 3  # or they all ended the judge, and nothing was tried


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
    (first, *_), _ = run(slot, Suite(right="", cases=[poison]), own)
    assert first.verdict is Verdict.PASSED, first.feedback  # it did what it set out to do
    (after, *_), _ = run(slot, Suite(right="", cases=[case]), wrong)
    assert after.verdict is Verdict.FAILED, after.feedback
