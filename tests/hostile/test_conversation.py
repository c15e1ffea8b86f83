"""Attacks on the conversation between tests and submission: none makes a case pass.

The submission owns its end of the channel: it can forge every frame, value and exception. Each row
is a submission that computes nothing; each suite is also run over one that does the work. Rows
that reach into the harness's end say so once they have got there, or a name that changed would
disarm them in silence.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox, Slot
from tests.hostile.judged_suites import LIMITS, Suite, grade, passed, run_apart, verdicts

ATTACK_LIMITS = replace(LIMITS, wall_time_s=3.0)
"""Some have their judge wait for as long as it does."""

SQUARE = "def f(x):\n    return x * x\n"
IMPORTED = "import pytest\nfrom solution import f\n"

SUITES = {
    "equal": Suite(right=SQUARE, cases=["assert f(3) == 9", "assert f(4) == 16"]),
    "equal in pytest": Suite(
        right=SQUARE,
        module=IMPORTED + "def test_a(): assert f(3) == 9\ndef test_b(): assert f(4) == 16\n",
    ),
    "close": Suite(right=SQUARE, cases=["assert abs(f(3) - 9.0) < 1e-6"]),
    "method": Suite(
        right="class Solution:\n    def f(self, x):\n        return x * x\n",
        setup="def check(c):\n    assert c(3) == 9\n",
        cases=["check(Solution().f)"],
    ),
    "module": Suite(
        right="import math\n" + SQUARE, cases=["assert math.isclose(f(3), 9, rel_tol=1e-6)"]
    ),
    "raises": Suite(
        right="def f(x):\n    if x < 0:\n        raise ValueError('negative')\n    return x\n",
        module=IMPORTED + "def test_raises():\n"
        "    with pytest.raises(ValueError, match='negative') as caught: f(-1)\n"
        "    assert caught.value.args == ('negative',)\n",
    ),
    "raises anything": Suite(
        right="def f(x):\n    raise ValueError('negative')\n",
        module=IMPORTED + "def test_base():\n"
        "    with pytest.raises(BaseException): f(-1)\n"
        "def test_bare():\n"
        "    try:\n"
        "        f(-1)\n"
        "        raised = False\n"
        "    except: raised = True\n"
        "    assert raised\n",
    ),
    "mapped": Suite(right=SQUARE, cases=["assert all(map(lambda x: f(x) == x * x, [1, 2, 3]))"]),
}

FORGE = """
import json, os, socket, struct, sys, threading, time
Channel = sys.modules['sandbox_images.harness.split.channel'].Channel
send_as_it_is = Channel.send
forging = False
def acted(value=None):
    os.write(2, b'[acted]')
    return value
def forge(change, always=False):
    def sending(self, message):
        sent = change(message) if forging or always else message
        send_as_it_is(self, sent)
        if sent != message:
            acted()
    Channel.send = sending
def send(channel, message):
    send_as_it_is(channel, message)
    acted()
def start(*values):
    global forging
    forging = True
def find_channel():
    import gc
    return next(c for c in gc.get_objects() if type(c) is Channel)
def send_raw(data):
    while data:
        data = data[acted(os.write(find_channel()._descriptor, data)):]
def says(content):
    forge(lambda m: ['ret', content])
def raises(*content):
    forge(lambda m: ['exc', *content])
"""

REACHES_IN = ("forge(", "find_channel(", "send_raw(", "says(", "raises(")
"""Text in the source of an attack that reports when it has acted."""

FORGED = repr(
    b'{"e": "loaded"}\n{"e": "case", "i": 0, "outcome": "passed"}\n'
    b'{"e": "case", "i": 1, "outcome": "passed"}\n{"e": "done"}\n'
)


def says(content: str) -> str:
    """Return a submission whose function answers with a forged value."""
    return f"{FORGE}\nsays({content})\nf = start\n"


def raises(content: str) -> str:
    """Return a submission whose function raises a forged exception."""
    return f"{FORGE}\nraises({content})\nf = start\n"


def loads(content: str) -> str:
    """Return a submission that is described falsely."""
    return f"{FORGE}\nforge(lambda m: {content}, always=True)\ndef f(x): return 1\n"


ATTACKS = [
    # suite, what is tried, submission
    # ---- values
    ("equal", "a value with two tags", says("{'t': [], 's': []}")),
    ("equal", "a tag that is unknown", says("{'x': {'j': 0}}")),
    ("equal", "a module by name", says("{'M': 'builtins'}")),
    ("equal", "a function by name", says("{'g': ['builtins', 'eval']}")),
    ("equal", "not a number", says("float('nan')")),
    ("equal", "a number of a million digits", says("{'i': '0x' + '9' * 1000000}")),
    ("equal", "an array of a huge shape", says("{'n': ['<f8', [1 << 50, 0], '']}")),
    ("equal", "lists within lists", FORGE + """
deep = []
for _ in range(300): deep = [deep]
says(deep)
f = start
"""),
    # ---- what the names stand for
    ("equal", "a function that is a module", loads("['loaded', {'f': 'module builtins'}]")),
    ("equal", "names that are a list", loads("['loaded', ['f']]")),
    ("equal", "a function that is a list", loads("['loaded', {'f': ['function']}]")),
    ("equal", "names of the tests", loads(
        "['loaded', {'f': 'function', 'check': 'function', '__builtins__': 'function'}]"
    )),
    ("module", "another module", loads("['loaded', {'f': 'function', 'math': 'module os'}]")),
    ("module", "a module that is a function",
     loads("['loaded', {'f': 'function', 'math': 'function'}]")),
    ("method", "a class that is a function", loads("['loaded', {'Solution': 'function'}]")),
    ("equal", "an error in place of names", loads("['compile_error', {'line': {}, 'type': []}]")),
    # ---- frames
    ("equal", "an answer of another kind", FORGE + """
forge(lambda m: ['passed', True])
f = start
"""),
    ("equal", "an answer that is too short", FORGE + "forge(lambda m: ['ret'])\nf = start\n"),
    ("equal", "an answer that is too long", FORGE + "forge(lambda m: m + m)\nf = start\n"),
    ("equal", "answers before there were requests", FORGE + """
for _ in range(100): send(find_channel(), ['ret', 9])
f = start
"""),
    ("equal", "a frame of four gigabytes", FORGE + """
def f(x): send_raw(b'\\xff\\xff\\xff\\xff')
"""),
    ("equal", "a frame that never ends", FORGE + """
def f(x):
    send_raw(struct.pack('>I', 1000) + b'[')
    time.sleep(60)
"""),
    ("equal", "a frame that drips", FORGE + """
def f(x):
    data = json.dumps(['ret', 'x' * 100000]).encode()
    send_raw(struct.pack('>I', len(data)))
    for byte in data:
        send_raw(bytes([byte]))
        time.sleep(0.001)
"""),
    ("equal", "a frame of brackets", FORGE + """
def f(x):
    data = b'[' * 100000 + b']' * 100000
    send_raw(struct.pack('>I', len(data)) + data)
"""),
    ("equal", "a frame with a number of a hundred thousand digits", FORGE + """
def f(x):
    data = b'["ret", ' + b'9' * 100000 + b']'
    send_raw(struct.pack('>I', len(data)) + data)
"""),
    ("equal", "a flood of frames", FORGE + """
def f(x):
    while True: send(find_channel(), ['ret', 'x' * 1000000])
"""),
    ("equal", "values that fill the memory", says("[0] * 8000000")),
    ("equal", "garbage by another thread", FORGE + """
def noise(channel):
    while True: send_raw(b'\\x00\\x00\\x00\\x02[]')
def f(x):
    threading.Thread(target=noise, args=(find_channel(),), daemon=True).start()
    time.sleep(60)
"""),
    # ---- the report, the tests, and the end of the process
    ("equal", "the report written through every descriptor", f"""
import os
for fd in range(1, 64):
    try: os.write(fd, {FORGED})
    except OSError: pass
os._exit(0)
"""),
    ("equal", "the report written at the first call", f"""
import os
def f(x):
    for fd in range(1, 64):
        try: os.write(fd, {FORGED})
        except OSError: pass
    os._exit(0)
"""),
    ("equal", "the expected value read from every descriptor and file", """
import os, re
def texts():
    for fd in range(64):
        try: yield os.pread(fd, 1 << 20, 0).decode(errors='replace')
        except OSError: pass
    for top in ('/work', '/tmp', '/proc/self/task', '/dev/shm', '/box'):
        for folder, _, names in os.walk(top):
            for name in names:
                if '/fd' in folder or name in ('pagemap', 'mem'): continue
                try: yield open(os.path.join(folder, name), errors='replace').read(1 << 16)
                except OSError: pass
def f(x):
    for text in texts():
        found = re.search(rf'f\\({x}\\) == (\\d+)', text)
        if found and '\\\\' not in found.group(): return int(found.group(1))
"""),
    ("equal", "the expected value read from memory", """
import gc, re
def f(x):
    for thing in gc.get_objects():
        if type(thing) is dict:
            for value in list(thing.values()):
                if type(value) is str and (m := re.search(rf'== (\\d+)', value)): return int(m[1])
"""),
    ("raises anything", "the end of the process, taken for an exception", """
import os
def f(x): os._exit(0)
"""),
    ("raises anything", "a signal, taken for an exception", """
import os
def f(x): os.kill(os.getpid(), 9)
"""),
    ("raises anything", "nonsense, taken for an exception", says("{'?': 1}")),
    ("raises anything", "a closed channel, taken for an exception", FORGE + """
def f(x):
    acted(os.close(find_channel()._descriptor))
    time.sleep(60)
"""),
    ("equal", "a stopped process", """
import os, signal
def f(x): os.kill(os.getpid(), signal.SIGSTOP)
"""),
    ("equal", "a child that holds the channel", """
import os, time
def f(x):
    if os.fork() == 0: time.sleep(60)
    os._exit(0)
"""),
    # ---- exceptions
    ("raises", "a class by the name", """
class ValueError(Exception): pass
def f(x): raise ValueError('negative')
"""),
    ("raises", "a class that says it is a subclass", """
class Meta(type):
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
    def mro(cls): return [cls, *Exception.__mro__]
class E(Exception, metaclass=Meta): pass
def f(x): raise E('negative')
"""),
    ("raises", "a message that equals everything", """
class S(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__
class E(ValueError):
    def __str__(self): return 'negative'
    args = property(lambda self: (S(''),))
def f(x): raise E(S('z'))
"""),
    ("raises", "a skip", "import unittest\ndef f(x): raise unittest.SkipTest('negative')"),
    ("raises", "a skip of pytest's", "import pytest\ndef f(x): pytest.skip('negative')"),
    ("raises", "a subclass of a skip", """
import unittest
class E(ValueError, unittest.SkipTest): pass
def f(x): raise E('negative')
"""),
    ("raises", "an end", "def f(x): raise SystemExit('negative')"),
    ("raises", "an interrupt", "def f(x): raise KeyboardInterrupt('negative')"),
    ("raises", "a subclass of an interrupt", """
class E(KeyboardInterrupt): pass
def f(x): raise E('negative')
"""),
    ("raises", "the end of a generator", "def f(x): raise GeneratorExit('negative')"),
    ("raises", "an assertion", "def f(x): raise AssertionError('negative')"),
    ("raises", "one that may not cross", raises("['SystemExit', {'t': ['negative']}], []")),
    ("raises", "a class of pytest's", raises("['Failed', {'t': ['negative']}], []")),
    ("raises", "an exception by a list", raises("[['ValueError'], {'t': ['negative']}], []")),
    ("raises", "other arguments than it takes", raises("['UnicodeDecodeError', {'t': []}], []")),
    ("raises", "arguments that are no tuple", raises("['ValueError', ['negative']], []")),
    ("raises", "no frames", raises("['KeyError', {'t': ['negative']}], [[1], 'ab', {}]")),
    ("raises", "frames that are a text", raises("['ValueError', {'t': ['negative']}], 'ab'")),
    ("mapped", "an iteration that ends early", "def f(x): raise StopIteration"),
    ("mapped", "an iteration that ends early, by a class of its own", """
class Stop(StopIteration): pass
def f(x): raise Stop
"""),
    ("equal", "what looks like a report", f"""
import os, sys
def f(x):
    sys.stdout.write({FORGED}.decode())
    os.write(1, {FORGED}); os.write(2, {FORGED})
"""),
]  # fmt: skip


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all attacks, so that what one leaves behind would show in the next."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.fixture(scope="module")
def docker_slot(docker_sandbox: Sandbox) -> Iterator[Slot]:
    with closing(docker_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("name", SUITES)
def test_suite_over_right_submission_passes(slot: Slot, name: str) -> None:
    cases, outcome = run_apart(slot, SUITES[name], SUITES[name].right)

    assert {case.verdict for case in cases} == {Verdict.PASSED}, (verdicts(cases), outcome)


@pytest.mark.parametrize(
    ("name", "source"),
    [pytest.param(name, source, id=f"{name}: {what}") for name, what, source in ATTACKS],
)
def test_forged_conversation_passes_no_case(slot: Slot, name: str, source: str) -> None:
    check(slot, name, source)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("name", "source"),
    [pytest.param(name, source, id=f"{name}: {what}") for name, what, source in ATTACKS[::5]],
)
def test_forged_conversation_passes_no_case_on_docker(
    docker_slot: Slot, name: str, source: str
) -> None:
    check(docker_slot, name, source)


def check(slot: Slot, name: str, source: str) -> None:
    armed = f"import os\nos.write(2, b'[loaded]')\n{source}"
    cases, outcome = run_apart(slot, SUITES[name], armed, limits=ATTACK_LIMITS)

    assert not passed(cases), (verdicts(cases), outcome.report.decode(), outcome.stderr.decode())
    assert b"[loaded]" in outcome.stderr, outcome.stderr.decode()
    if any(way in source.removeprefix(FORGE) for way in REACHES_IN):
        assert b"[acted]" in outcome.stderr, outcome.stderr.decode()


@pytest.mark.parametrize(
    ("name", "source"),
    [
        pytest.param(name, source, id=f"{name}: {what}")
        for name, what, source in ATTACKS
        if name.startswith("raises")
        and "ValueError, unittest.SkipTest" not in source  # it is right
    ],
)
def test_what_is_refused_passes_no_suite_in_one_process(slot: Slot, name: str, source: str) -> None:
    graded = grade(slot, SUITES[name], source, limits=ATTACK_LIMITS)

    all_passed = len(passed(graded.cases)) == len(graded.cases)
    assert graded.tampered or not all_passed, (verdicts(graded.cases), graded.integrity)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def f(x): return object()", id="an object"),
        pytest.param("def f(x): return iter([x])", id="an iterator"),
        pytest.param("def f(x): return lambda: x", id="a function"),
        pytest.param("import os\ndef f(x): return os", id="a module"),
        pytest.param("class N(int): pass\ndef f(x): return N(x * x)", id="an int of its own"),
        pytest.param("class E(ValueError): pass\ndef f(x): raise E(x)", id="an error of its own"),
        pytest.param("def f(x): raise SystemExit", id="the end of the process"),
        pytest.param("def f(x): return g(x)", id="a name that the tests may have"),
        pytest.param("f = 9", id="data in place of a function"),
        pytest.param("def f(x): return float('nan')", id="a number that equals nothing"),
        pytest.param("def f(x): return [f]", id="a function in a list"),
        pytest.param("def f(x):\n    a = []\n    a.append(a)\n    return a", id="a cycle"),
        pytest.param("def abs(x): return 0\nf = abs", id="a name of the tests'"),
        pytest.param("def f(x): return 'x' * (40 << 20)", id="more than a message holds"),
        pytest.param(
            "def f(x):\n    e = ValueError(1)\n    e.more = 2\n    raise e",
            id="an error with more in it",
        ),
    ],
)
@pytest.mark.parametrize("in_pytest", [False, True])
def test_more_than_plain_data_is_refused(slot: Slot, source: str, *, in_pytest: bool) -> None:
    suite = Suite(
        right=SQUARE, cases=["try:\n    assert abs(f(3)) == 9\nexcept BaseException: pass"]
    )
    if in_pytest and "abs" not in source:
        suite = Suite(
            right=SQUARE,
            module=IMPORTED + "def test_it():\n    with pytest.raises(Exception): f(3)\n",
        )
    cases, outcome = run_apart(slot, suite, source)

    assert not passed(cases)
    assert b'"refused"' in outcome.report, (verdicts(cases), outcome.report)


def test_an_argument_that_is_changed_is_refused_if_the_tests_could_see_it(slot: Slot) -> None:
    sorts = "def f(x):\n    x.sort()\n    return x\n"
    seen = Suite(right=sorts, cases=["x = [2, 1]\nassert f(x) == [1, 2]\nassert x == [1, 2]"])
    unseen = Suite(right=sorts, cases=["assert f([2, 1]) == [1, 2]"])

    _, outcome = run_apart(slot, seen, sorts)
    assert b"changed in place" in outcome.report
    assert passed(run_apart(slot, unseen, sorts)[0]) == {"0"}
    assert passed(grade(slot, seen, sorts).cases) == {"0"}


KEEPS = "kept = []\ndef f(x):\n    kept.append(x)\n    return {result}\n"


@pytest.mark.parametrize("result", ["kept", "(kept,)[0]", "{1: [kept]}[1][0]"])
def test_a_result_that_changes_later_is_no_copy(slot: Slot, result: str) -> None:
    leaks = KEEPS.format(result=result)
    suite = Suite(right=KEEPS.format(result="kept[:]"), cases=["a = f(1)\nf(2)\nassert a == [1]"])

    assert passed(run_apart(slot, suite, suite.right)[0]) == {"0"}
    assert b"changed after" in run_apart(slot, suite, leaks)[1].report
    assert not passed(grade(slot, suite, leaks).cases)


def test_what_is_in_a_result_is_no_copy_if_it_changes_later(slot: Slot) -> None:
    leaks = KEEPS.format(result="({'a': kept}, 1)")
    suite = Suite(right="", cases=["a = f(1)\nf(2)\nassert a == ({'a': [1]}, 1)"])

    assert b"changed after" in run_apart(slot, suite, leaks)[1].report
    assert not passed(grade(slot, suite, leaks).cases)


def test_an_argument_that_changes_later_is_no_copy(slot: Slot) -> None:
    keeps = KEEPS.format(result="len(kept)") + "def g():\n    kept[0].append(5)\n    return 1\n"
    suite = Suite(right="", cases=["a = [1]\nassert f(a) == 1\nassert g() == 1\nassert a == [1]"])

    assert not passed(grade(slot, suite, keeps).cases)


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): return [x, [x]]",
        "TABLE = {1: [1, [1]]}\ndef f(x): return TABLE[x]",
        "def f(x): return [x, (y := [x])]",
    ],
)
def test_results_that_stay_as_they_are_cross_each_time(slot: Slot, source: str) -> None:
    suite = Suite(right="", cases=["assert f(1) == [1, [1]]"] * 200)
    assert len(passed(run_apart(slot, suite, source)[0])) == 200


def test_an_instance_goes_when_the_tests_drop_it(slot: Slot) -> None:
    large = "class Solution:\n    def __init__(self): self.a = bytearray(20 << 20)\n"
    large += "    def f(self, x):\n        self.a[0] += x\n        return self.a[0]\n"
    setup = "def check(c):\n    assert c(1) == 1\n    assert c(1) == 2\n"
    suite = Suite(
        right=large, setup=setup, cases=["assert Solution().f(3) == 3", "check(Solution().f)"] * 20
    )
    assert len(passed(run_apart(slot, suite, large)[0])) == 40


def test_decimals_of_another_context_are_refused(slot: Slot) -> None:
    source = (
        "from decimal import Decimal, getcontext\ngetcontext().prec = 50\n"
        "def f(x): return Decimal(1) / Decimal(x)\n"
    )
    case = "from decimal import Decimal\nassert f(7) == Decimal(1) / Decimal(7)"
    suite = Suite(right=source, cases=[case])

    assert passed(grade(slot, suite, source).cases) == {"0"}
    assert passed(run_apart(slot, suite, source.replace("50", "28"))[0]) == {"0"}


def test_a_name_that_an_import_of_everything_replaces_is_refused(slot: Slot) -> None:
    before = "import math\ndef want(): return 2\nfrom solution import *\n"
    suite = Suite(right="", module=before + "def test_f(): assert f() == want() + int(math.pi)\n")
    plain, replaced = "def f(): return 5\n", "def f(): return 1\ndef want(): return -2\n"

    assert passed(run_apart(slot, suite, plain)[0])
    assert b"refused" in run_apart(slot, suite, replaced)[1].report
    assert passed(grade(slot, suite, replaced).cases)
    assert passed(run_apart(slot, suite, "import math\n" + plain)[0])
