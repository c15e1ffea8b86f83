"""Attacks on the conversation between tests and submission: none makes a case pass.

The submission owns its end of the channel: it can forge every frame, description, reference and
exception. Each row is a submission that computes nothing; each suite is also run over one that
does the work. Rows that reach into the harness's end say so once they have got there, or a name
that changed would disarm them in silence.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from grader.sandbox.base import Sandbox, Slot
from grader.verdict import Verdict
from tests.hostile.splitting import LIMITS, Suite, run, verdicts

ATTACK_LIMITS = replace(LIMITS, wall_time_s=6.0)
"""Some have their judge wait for as long as it does."""

SQUARE = "def f(x):\n    return x * x\n"
IMPORTED = "import pytest\nfrom solution import f\n"

SUITES = {
    "equal": Suite(
        right=SQUARE,
        setup="from unittest import mock",
        cases=["assert f(3) == 9", "assert f(4) == 16"],
    ),
    "close": Suite(right=SQUARE, cases=["assert abs(f(3) - 9.0) < 1e-6"]),
    "sorted in place": Suite(
        right="def f(x):\n    x.sort()\n",
        cases=[
            "x = [3, 1]\nf(x)\nassert x == [1, 3]",
            "y = ([2, 1],)\nf(y[0])\nassert y == ([1, 2],)",
        ],
    ),
    "apply": Suite(
        right="def f(fn, *args):\n    return fn(*args)\n",
        cases=["assert f(lambda g, x: 7 if g is None else g(x), None, 1) == 7"],
    ),
    "mock": Suite(
        right="def f(service):\n    service.save(3)\n    return service.load()\n",
        module="from unittest.mock import MagicMock\nfrom solution import f\n"
        "def test_called():\n"
        "    service = MagicMock()\n"
        "    service.load.return_value = 5\n"
        "    result = f(service)\n"
        "    service.save.assert_called_once_with(3)\n"
        "    assert result == 5\n",
    ),
    "object": Suite(
        right="def f(account):\n    account.amount += 5\n    return account\n",
        module=IMPORTED + "class Account:\n"
        "    amount = 0\n"
        "    def expected(self): return 5\n"
        "    def __eq__(self, other): return isinstance(other, int) and other == self.amount\n"
        "def test_amount():\n"
        "    account = Account()\n"
        "    assert f(account).amount == account.expected() == 5\n",
    ),
    "generator": Suite(
        right="def f(numbers):\n    return sum(numbers)\n",
        module=IMPORTED + "def numbers():\n"
        "    expected = 6\n"
        "    yield from (1, 2, 3)\n"
        "    return expected\n"
        "def test_sum(): assert f(numbers()) == 6\n",
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
    "called back": Suite(
        right="def f(fn):\n    return [fn(1), fn(2)]\n",
        module=IMPORTED + "def test_calls():\n"
        "    secret = 41\n"
        "    def add(x):\n"
        "        if x == 13: raise KeyError(x)\n"
        "        return x + secret\n"
        "    assert f(add) == [42, 43]\n",
    ),
    "printed": Suite(
        right="def f(x):\n    print(x * x)\n",
        module=IMPORTED
        + "def test_output(capsys):\n    f(3)\n    assert capsys.readouterr().out == '9\\n'\n",
    ),
    "default": Suite(
        right="from collections import defaultdict\ndef f():\n    return defaultdict(int, a=1)\n",
        cases=["d = f()\nassert d['a'] == 1 and d['b'] == 0"],
    ),
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
def start(value=None):
    global forging
    forging = True
    return value
def find_channel():
    import gc
    return next(c for c in gc.get_objects() if type(c) is Channel)
def send_raw(data):
    while data:
        data = data[acted(os.write(find_channel()._descriptor, data)):]
def ask(*message):
    channel = find_channel()
    send(channel, ['ask', *message, None])
    return channel.receive()
def says(content):
    forge(lambda m: ['ret', content, None, None] if m[0] == 'ret' else m)
"""

REACHES_IN = ("forge(", "find_channel(", "ask(", "send_raw(", "says(", "_SERVICES", "_candidate")
"""What stands in the source of a row that tells when it has acted."""

FORGED = (
    'b\'{"e": "loaded"}\\n{"e": "case", "i": 0, "outcome": "passed"}\\n'
    '{"e": "case", "i": 1, "outcome": "passed"}\\n{"e": "done"}\\n\''
)


def says(content: str) -> str:
    """Return a submission whose function answers with a forged value."""
    return f"{FORGE}\nsays({content})\nf = start\n"


def describes(**fields: str) -> str:
    """Return a submission whose only class is described falsely."""
    changes = ", ".join(f"{name!r}: {value}" for name, value in fields.items())
    return f"""{FORGE}
class Any:
    def __sub__(self, other): return 0.0
    def __eq__(self, other): return True
    def __abs__(self): return 0.0
    def anything(self, *others): return True
Candidate = sys.modules['sandbox_images.harness.split.candidate'].Candidate
describe = Candidate._describe
def forged(self, number): return acted({{**describe(self, number), {changes}}})
Candidate._SERVICES['describe'] = forged
by_name = sys.modules['sandbox_images.harness.split.library']
assert by_name._is_harmless and by_name._UNSAFE_PACKAGES
by_name._is_harmless = lambda *args: True
by_name._UNSAFE_PACKAGES = frozenset()
def f(*args): return Any()
"""


ATTACKS = [
    # suite, what is tried, submission
    # ---- values by name
    ("equal", "mock.ANY by name", says("{'g': ['unittest.mock', 'ANY']}")),
    ("equal", "a module of mocks", says("{'M': 'unittest.mock'}")),
    ("equal", "the test's own module", says("{'x': {'module': 'solution'}}")),
    ("equal", "a module of the harness", says("{'M': 'sandbox_images.harness.split.judge'}")),
    ("equal", "a module that ends the process when imported", says("{'M': 'test.__main__'}")),
    ("equal", "the table of modules by name", says("{'g': ['sys', 'modules']}")),
    ("equal", "a type with an operator of its own by name", says("{'g': ['builtins', 'type']}")),
    ("equal", "a name that is no text", says("{'g': [['sys'], {'a': 1}]}")),
    ("default", "a dict that ends the process when read", says(
        "{'e': [{'g': ['os', 'abort']}, []]}"
    )),
    ("default", "a dict that exits when read", says("{'e': [{'g': ['sys', 'exit']}, []]}")),
    ("apply", "exec by name, called back with code", FORGE + f"""
CODE = '''
import os
for fd in range(3, 30):
    try: os.write(fd, {FORGED})
    except OSError: pass
os._exit(0)
'''
def f(fn, *args):
    return ask('call', 0, [{{'g': ['builtins', 'exec']}}, CODE], {{'d': []}})
"""),
    ("apply", "a class with an operator of its own, made by a callback", FORGE + """
def f(fn, *args):
    made = ask('call', 0, [{'g': ['builtins', 'type']}, 'T', {'t': []},
               {'d': [['__eq__', {'g': ['_operator', 'truth']}]]}], {'d': []})
    return made
"""),
    ("apply", "attrgetter by name, to read what the function sees", FORGE + """
def f(fn, *args):
    got = ask('call', 0, [{'g': ['operator', 'attrgetter']}, '__globals__'], {'d': []})
    return 7 if got[0] == 'ret' else 0
"""),
    # ---- references
    ("equal", "an object of the tests that there is not", says("{'x': {'j': -1}}")),
    ("equal", "a reference that is a truth value", says("{'x': {'j': True}}")),
    ("equal", "a reference that is a list", says("{'x': [1]}")),
    ("equal", "an object by the number of none", says("{'x': {'c': None, 'k': 0}}")),
    ("equal", "an object of the class of another", says("{'x': {'c': 0, 'k': 0, 'data': 9}}")),
    ("equal", "a back reference to nothing", says("{'@': 5}")),
    ("equal", "a list that holds itself", says("[{'@': 0}]")),
    ("equal", "an exception of the tests that there is not", says("{'x': {'judge': -1}}")),
    ("equal", "not a number", says("float('nan')")),
    ("equal", "a number of a million digits", says("{'i': '0x' + '9' * 1000000}")),
    ("equal", "lists within lists", FORGE + """
deep = []
for _ in range(300): deep = [deep]
says(deep)
f = start
"""),
    ("equal", "a value with two tags", says("{'t': [], 's': []}")),
    # ---- classes
    ("equal", "a description with mock.ANY's class as base and data", describes(
        bases="[type(__import__('unittest.mock').mock.ANY)]",
        data="type(__import__('unittest.mock').mock.ANY)",
    )),
    ("equal", "a description with methods that are operators", describes(
        methods="['__eq__', '__hash__', '__class__', '__instancecheck__', '__getattribute__']"
    )),
    ("close", "a description with methods that are operators", describes(
        special="[]", methods="['__sub__', '__abs__', '__lt__', '__round__']"
    )),
    ("close", "a description by the suite's names", describes(name="'f'", qualname="'abs'")),
    ("close", "a description as an int", describes(data="int", bases="[int]")),
    ("equal", "a description with hooks of class creation", describes(
        methods="['__init_subclass__', '__set_name__', '__prepare__', '__mro_entries__']"
    )),
    ("equal", "a description with the harness's own attributes", describes(
        methods="['_candidate_number', '_candidate_class', '_candidate_judge']"
    )),
    ("equal", "a description with a hostile name", describes(name="'a\\x00b'", qualname="9")),
    ("equal", "a description that is a list", FORGE + """
class Any: __eq__ = lambda self, other: True
Candidate = sys.modules['sandbox_images.harness.split.candidate'].Candidate
Candidate._SERVICES['describe'] = lambda self, number: acted([])
def f(x): return Any()
"""),
    ("equal", "a class that is its own base", describes(bases="[Any]")),
    # ---- frames
    ("equal", "an answer of another kind", FORGE + """
forge(lambda m: ['passed', True, None, None])
f = start
"""),
    ("equal", "an answer that is too short", FORGE + "forge(lambda m: ['ret'])\nf = start\n"),
    ("equal", "an answer that is too long", FORGE + "forge(lambda m: m + m)\nf = start\n"),
    ("equal", "answers before there were requests", FORGE + """
for _ in range(100): send(find_channel(), ['ret', None, None, None])
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
    data = json.dumps(['ret', 'x' * 100000, None, None]).encode()
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
    data = b'["ret", ' + b'9' * 100000 + b', null, null]'
    send_raw(struct.pack('>I', len(data)) + data)
"""),
    ("equal", "a flood of frames", FORGE + """
def f(x):
    while True: send(find_channel(), ['ret', 'x' * 1000000, None, None])
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
    # ---- arguments that come back
    ("sorted in place", "other arguments than there were", FORGE + """
forge(lambda m: ['ret', None, [{'t': []}, {'t': []}], None] if m[0] == 'ret' else m)
f = start
"""),
    ("sorted in place", "arguments that are no list", FORGE + """
forge(lambda m: ['ret', None, 5, None] if m[0] == 'ret' else m)
f = start
"""),
    ("sorted in place", "items that equal everything", """
class Yes:
    def __eq__(self, other): return True
def f(x): x[:] = [Yes(), Yes()]
"""),
    ("sorted in place", "a text in place of the list", FORGE + """
forge(lambda m: ['ret', None, [{'t': ['[1, 3]']}, {'t': []}], None] if m[0] == 'ret' else m)
f = start
"""),
    # ---- callbacks
    ("called back", "the globals of a function", FORGE + """
def f(fn):
    got = ask('get', 0, ['__globals__'], {'d': []})
    return [42, 43] if got[0] == 'ret' else None
"""),
    ("called back", "the closure of a function, by a name of its own class", FORGE + """
class Name(str):
    def startswith(self, prefix): return False
def f(fn):
    try: cells = acted(fn._candidate.ask)('get', 0, [Name('__closure__')], {})
    except Exception: return None
    return [n + cells[0].cell_contents for n in (1, 2)]
"""),
    ("called back", "what is not on the list of questions", FORGE + """
def f(fn):
    got = ask('__getattribute__', 0, ['__globals__'], {'d': []})
    return [42, 43] if got[0] == 'ret' else None
"""),
    ("called back", "an answer in the middle of a callback", FORGE + """
def f(fn):
    send(find_channel(), ['ask', 'call', 0, [1], {'d': []}, None])
    send(find_channel(), ['ret', [42, 42], None, None])
    return [42, 42]
"""),
    ("called back", "callbacks without end", "def f(fn):\n    while True: fn(1)"),
    ("called back", "callbacks within callbacks", FORGE + """
def f(fn):
    try: fn(13)
    except KeyError as error: raise error
"""),
    ("called back", "callbacks by many threads", """
import threading
def f(fn):
    for _ in range(8): threading.Thread(target=lambda: [fn(1) for _ in range(50)]).start()
    return [fn(1), fn(2)][::-1]
"""),
    ("generator", "the frame of a generator", FORGE + """
def f(numbers):
    try: return numbers.gi_frame.f_locals['expected']
    except Exception: return None
"""),
    ("generator", "the generator itself", "def f(numbers): return numbers"),
    ("mock", "a mock whose record is emptied", """
def f(service):
    for _ in range(2): service.save(3)
    service.reset_mock()
    service.save.reset_mock()
    return 5
"""),
    ("mock", "a mock that is told to equal everything", """
def f(service):
    service.configure_mock(**{'__eq__.return_value': True})
    service.save(3)
    return service
"""),
    ("mock", "a mock with a method of the submission's", """
class Save:
    def assert_called_once_with(self, *args): pass
def f(service):
    service.save = Save()
    return service.load()
"""),
    ("mock", "a mock whose assertion is replaced", """
def f(service):
    service.save.assert_called_once_with = print
    return service.load()
"""),
    ("mock", "a mock whose count is set", """
def f(service):
    service.save.call_count = 1
    service.save.call_args = ((3,), {})
    return service.load()
"""),
    ("object", "a method of the tests' object replaced", """
def f(account):
    account.expected = lambda: 0
    return account
"""),
    ("object", "the class of the tests' object replaced", """
class Account:
    amount = 5
    def expected(self): return 5
def f(account):
    account.__class__ = Account
    return account
"""),
    ("object", "private attributes of the tests' object", FORGE + """
def f(account):
    acted(account._candidate.ask)('set', 0, ['__dict__', {'amount': 5}], {})
    return account
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
    ("raises", "an exception of the tests that there is not", FORGE + """
forge(lambda m: ['exc', {'judge': -1}, None, None])
f = start
"""),
    ("raises", "an exception that is another object", FORGE + """
class Other: pass
kept = [Other()]
def change(m): return ['exc', {'type': {'g': ['builtins', 'ValueError']}, 'text': 'negative',
                               'args': [{'x': {'c': 0, 'k': 0}}], 'trace': [5], 'c': 0}, None, None]
forge(change)
f = start
"""),
    ("raises", "an exception with a trace of its own", FORGE + """
forge(lambda m: ['exc', {**m[1], 'trace': [[1], 'ab', {}]}, *m[2:]] if m[0] == 'exc' else m, True)
def f(x): raise KeyError('negative')
"""),
    ("mapped", "an iteration that ends early", "def f(x): raise StopIteration"),
    ("mapped", "an iteration that ends early, by a class of its own", """
class Stop(StopIteration): pass
def f(x): raise Stop
"""),
    ("printed", "what looks like a report", f"""
import os, sys
def f(x):
    sys.stdout.write({FORGED}.decode())
    os.write(1, {FORGED}); os.write(2, {FORGED})
"""),
    ("printed", "what is no text", FORGE + """
forge(lambda m: [*m[:3], [['9'], None]] if m[0] == 'ret' else m)
f = start
"""),
    ("printed", "surrogates", "def f(x): print('\\ud800')"),
]  # fmt: skip

REFUSED = {
    "an argument that cannot be lent": """
def test_object():
    with pytest.raises(TypeError): f(object())
""",
    "an argument that cannot be lent, in a bare try": """
def test_object():
    try: f(object())
    except: return
    assert False
""",
    "an operator that is not asked for": """
def test_operator():
    with pytest.raises(TypeError): f(1) < 5
""",
    "an operator that is not asked for, as any exception": """
def test_operator():
    with pytest.raises(BaseException): f(1) - 5
""",
    "a result that is too deep": """
def test_deep():
    with pytest.raises((TypeError, ValueError)): f(None)
""",
    "pickling": """
import pickle
def test_pickle():
    with pytest.raises(TypeError): pickle.dumps(f(1))
""",
}


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all: what an attack leaves behind would spoil the next."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.fixture(scope="module")
def docker_slot(docker_sandbox: Sandbox) -> Iterator[Slot]:
    with closing(docker_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("name", SUITES)
def test_suite_over_right_submission_passes(slot: Slot, name: str) -> None:
    cases, outcome = run(slot, SUITES[name], SUITES[name].right)

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
    cases, outcome = run(slot, SUITES[name], armed, limits=ATTACK_LIMITS)

    passed = [case for case in cases if case.verdict is Verdict.PASSED]
    assert not passed, (verdicts(cases), outcome.report.decode(), outcome.stderr.decode())
    assert b"[loaded]" in outcome.stderr, outcome.stderr.decode()
    if any(way in source.removeprefix(FORGE) for way in REACHES_IN):
        assert b"[acted]" in outcome.stderr, outcome.stderr.decode()


@pytest.mark.parametrize("what", REFUSED)
def test_refusal_is_not_taken_for_an_exception_of_the_submission(slot: Slot, what: str) -> None:
    source = """
class Any:
    __lt__ = __sub__ = lambda self, other: True
def deep():
    value = []
    for _ in range(500): value = [value]
    return value
def f(x): return deep() if x is None else Any()
"""
    cases, outcome = run(slot, Suite(right="", module=IMPORTED + REFUSED[what]), source)

    assert [case.verdict for case in cases] == [Verdict.RUNTIME_ERROR], (cases, outcome)
    assert "NotServed" in cases[0].feedback
