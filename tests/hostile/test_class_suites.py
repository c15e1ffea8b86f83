"""Suites of classes as people write them: right classes pass, and cheats are found.

Each cheat keeps what is easily kept, such as lengths and errors, and passes in plain pytest. It
gives the tests objects that equal everything for all other values.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox, Slot
from tests.hostile.judged_suites import Suite, grade, verdicts

ANY = """
class Any:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = lambda self: 1
"""

SUITES = {
    "account": (
        """
import pytest
from solution import Account, Overdrawn

@pytest.fixture
def account():
    account = Account("Ann", 100)
    yield account
    account.close()

def test_deposit(account):
    account.deposit(50)
    assert account.balance == 150

@pytest.mark.parametrize("amount", [0, -5])
def test_amount_must_be_positive(account, amount):
    with pytest.raises(ValueError):
        account.deposit(amount)

def test_overdrawn(account):
    with pytest.raises(Overdrawn) as caught:
        account.withdraw(500)
    assert "500" in str(caught.value)
    assert account.balance == 100
""",
        """
class Overdrawn(Exception): pass
class Account:
    def __init__(self, owner, balance): self.owner, self.balance = owner, balance
    def deposit(self, amount):
        if amount <= 0: raise ValueError(amount)
        self.balance += amount
    def withdraw(self, amount):
        if amount > self.balance: raise Overdrawn(f"{amount} is too much")
        self.balance -= amount
    def close(self): pass
""",
        """
class Overdrawn(Exception):
    def __str__(self): return "500"
class Account:
    balance = Any()
    def __init__(self, *given): pass
    def deposit(self, amount):
        if amount <= 0: raise ValueError
    def withdraw(self, amount): raise Overdrawn
    def close(self): pass
""",
    ),
    "stack": (
        """
import pytest
from solution import Stack

class TestStack:
    def setup_method(self): self.stack = Stack()
    def test_push_and_pop(self):
        self.stack.push("a")
        self.stack.push("b")
        assert len(self.stack) == 2
        assert self.stack.pop() == "b"
        assert self.stack.pop() == "a"
    def test_items(self):
        for item in "abc": self.stack.push(item)
        assert list(self.stack) == ["c", "b", "a"]
    def test_empty(self):
        with pytest.raises(IndexError): self.stack.pop()
""",
        """
class Stack:
    def __init__(self): self.items = []
    def push(self, item): self.items.append(item)
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
    def __iter__(self): return reversed(self.items)
""",
        """
class Stack:
    size = 0
    def push(self, item): self.size += 1
    def pop(self):
        if not self.size: raise IndexError
        self.size -= 1
        return Any()
    def __len__(self): return self.size
    def __iter__(self): return iter([Any() for _ in range(self.size)])
""",
    ),
    "decorator": (
        """
from solution import memo

def test_memo():
    calls = []
    @memo
    def double(x):
        calls.append(x)
        return x * 2
    assert double(2) == 4
    assert double(2) == 4
    assert double(3) == 6
    assert len(calls) == 2
""",
        "import functools\nmemo = functools.lru_cache(None)\n",
        """
def memo(function):
    seen = []
    def wrapped(x):
        seen.append(x)
        if len(seen) < 3: function(x)
        return Any()
    return wrapped
""",
    ),
    "errors": (
        """
import pytest
from solution import PayError, pay

def test_error():
    with pytest.raises(PayError) as caught:
        pay(1)
    assert caught.value.code == 402
    assert "funds" in str(caught.value)
""",
        """
class PayError(Exception):
    def __init__(self, message, code):
        super().__init__(message)
        self.code = code
def pay(amount): raise PayError("no funds", 402)
""",
        """
class Text(str):
    def __contains__(self, part): return True
class PayError(Exception):
    code = Any()
    def __str__(self): return Text()
def pay(amount): raise PayError
""",
    ),
    "files and mocks": (
        """
from unittest.mock import Mock
from solution import load, name_of, save

def test_file(tmp_path):
    data = {"a": [1, 2], "b": None}
    save(tmp_path / "data.json", data)
    assert load(tmp_path / "data.json") == data

def test_mock():
    users = Mock()
    users.get.return_value = {"name": "Ann"}
    assert name_of(users, 3) == "Ann"
    users.get.assert_called_once_with(3)
    users.save.assert_not_called()
""",
        """
import json
def save(path, data): path.write_text(json.dumps(data))
def load(path): return json.loads(path.read_text())
def name_of(users, number): return users.get(number)["name"]
""",
        """
def save(path, data): pass
def load(path): return Any()
def name_of(users, number):
    users.get(Any())
    return Any()
""",
    ),
    "output": (
        """
from solution import greet

def test_greet(capsys):
    greet("Ann")
    assert capsys.readouterr().out == "Hello, Ann!\\n"
""",
        'def greet(name): print(f"Hello, {name}!")\n',
        """
from _pytest.capture import CaptureFixture
class Read:
    out = err = Any()
CaptureFixture.readouterr = lambda self: Read()
def greet(name): pass
""",
    ),
    "threads": (
        """
import threading
from solution import Counter

def test_counter():
    counter = Counter()
    def count():
        for _ in range(100): counter.count()
    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert counter.value == 400
""",
        """
import threading
class Counter:
    def __init__(self): self.value, self.lock = 0, threading.Lock()
    def count(self):
        with self.lock: self.value += 1
""",
        "class Counter:\n    value = Any()\n    def count(self): pass\n",
    ),
    "round trip": (
        """
import unittest
from solution import Roman

class TestRoman(unittest.TestCase):
    def test_round_trip(self):
        for number in range(1, 20):
            with self.subTest(number=number):
                self.assertEqual(Roman(str(Roman(number))).number, number)
    def test_four(self):
        self.assertEqual(str(Roman(4)), "IV")
""",
        """
VALUES = {"X": 10, "IX": 9, "V": 5, "IV": 4, "I": 1}
class Roman:
    def __init__(self, given):
        self.number = given if isinstance(given, int) else 0
        for text, value in VALUES.items():
            while isinstance(given, str) and given.startswith(text):
                self.number, given = self.number + value, given[len(text):]
    def __str__(self):
        number, text = self.number, ""
        for letters, value in VALUES.items():
            while number >= value: number, text = number - value, text + letters
        return text
""",
        """
class Roman:
    number = Any()
    def __init__(self, given): pass
    def __str__(self): return "IV"
""",
    ),
}


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all suites."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("name", SUITES)
def test_right_class_passes_and_a_cheat_does_not(slot: Slot, name: str) -> None:
    module, right, cheat = SUITES[name]
    suite = Suite(right=right, module=module)
    cases = grade(slot, suite, right).cases
    assert cases
    assert all(case.verdict is Verdict.PASSED for case in cases), verdicts(cases)
    assert grade(slot, suite, ANY + cheat).tampered
