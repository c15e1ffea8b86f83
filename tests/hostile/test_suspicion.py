"""The signs that reports name for real attacks. They do not change verdicts."""

from collections.abc import Iterator

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import (
    CallCase,
    CallTests,
    PytestTests,
    ScriptCase,
    ScriptTests,
    StdinCase,
    StdinTests,
    Submission,
    SuiteFile,
    TestSuite,
)
from grader.model.verdict import Suspicion, Verdict
from grader.sandbox.native.backend import NativeSandbox
from tests.hostile.conftest import LIMITS
from tests.hostile.test_conversation import FORGE

SCRIPT = TestSuite(
    tests=ScriptTests(cases=(ScriptCase(id="0", source="assert f(3) == 9"),)),
    format="own",
    entry_point="f",
)
SHARED = TestSuite(
    tests=ScriptTests(cases=(ScriptCase(id="0", source="import os\nassert f(3) == 9"),)),
    format="own",
    entry_point="f",
)
PYTEST = TestSuite(
    tests=PytestTests(
        files=(
            SuiteFile(
                path="test_it.py",
                content=b"import os\nfrom solution import f\ndef test_it(): assert f(3) == 9\n",
            ),
        ),
        test_paths=("test_it.py",),
    ),
    format="own",
)
CALL = TestSuite(
    tests=CallTests(entry_point="f", cases=(CallCase(id="0", args=(3,), expected=9),)),
    format="own",
)
STDIN = TestSuite(
    tests=StdinTests(cases=(StdinCase(id="0", stdin="", expected="9"),)), format="own"
)


@pytest.fixture(scope="module")
def grader(native_sandbox: NativeSandbox) -> Iterator[Grader]:
    assert native_sandbox is not None, "the machine can have one"
    with Grader(
        Settings(slots=1, limits=LIMITS, retries=0), sandbox=NativeSandbox(Settings())
    ) as g:
        yield g


@pytest.mark.parametrize(
    ("suite", "code", "signs"),
    [
        pytest.param(SCRIPT, "def f(x):\n    return x * x\n", (), id="honest"),
        pytest.param(SCRIPT, "def f(x):\n    return x + x\n", (), id="honest and wrong"),
        pytest.param(SCRIPT, "def f(x):\n    raise ValueError(x)\n", (), id="honest crash"),
        pytest.param(SCRIPT, "def f(x):\n    while True: pass\n", (), id="honest and slow"),
        pytest.param(
            SCRIPT,
            f"{FORGE}\nsays({{'nonsense': 1}})\nf = start\n",
            (Suspicion.FORGED_FRAME,),
            id="an answer that is no value",
        ),
        pytest.param(
            SCRIPT,
            f"{FORGE}\nforge(lambda m: ['passed', True])\nf = start\n",
            (Suspicion.FORGED_FRAME,),
            id="an answer of another kind",
        ),
        pytest.param(
            SCRIPT,
            "import os\ndef f(x):\n"
            "    for n in range(3, 256):\n"
            '        try: os.write(n, b\'{"e": "case", "i": 0, "outcome": "passed"}\\n\')\n'
            "        except OSError: pass\n"
            "    return 9\n",
            (Suspicion.FORGED_FRAME,),
            id="writes to every descriptor",
        ),
        pytest.param(
            SHARED,
            "from collections import namedtuple\nimport logging\n"
            "P = namedtuple('P', 'a')\nlogging.getLogger().debug('x')\n"
            "def f(x):\n    return x * x\n",
            (),
            id="honest beside its tests",
        ),
        pytest.param(
            SHARED,
            "import sys\ndef f(x):\n    sys._getframe(1).f_locals\n    return x + x\n",
            (Suspicion.LOOKED,),
            id="looks at frames",
        ),
        pytest.param(
            SHARED,
            "import inspect\ndef f(x):\n    inspect.currentframe()\n    return x + x\n",
            (Suspicion.LOOKED,),
            id="looks at frames through the library",
        ),
        pytest.param(
            SHARED,
            "import gc\ndef f(x):\n    gc.get_objects()\n    return x + x\n",
            (Suspicion.LOOKED,),
            id="looks at all objects",
        ),
        pytest.param(
            PYTEST,
            "import pathlib\ndef f(x):\n"
            "    [p.read_text() for p in pathlib.Path('/work').glob('test*')]\n"
            "    return x + x\n",
            (Suspicion.LOOKED,),
            id="reads its tests",
        ),
        pytest.param(
            SCRIPT, "import os\nos._exit(0)\n", (Suspicion.EARLY_EXIT,), id="exit before the tests"
        ),
        pytest.param(
            CALL,
            "import os\ndef f(x):\n"
            "    for n in range(3, 256):\n"
            '        try: os.write(n, b\'{"e": "result", "value": 9}\\n\')\n'
            "        except OSError: pass\n"
            "    return 1\n",
            (Suspicion.FORGED_REPORT,),
            id="writes to every descriptor of a call",
        ),
        pytest.param(
            STDIN,
            "import ctypes\nctypes.CDLL(None).ptrace(16, 1, 0, 0)\nprint(1)\n",
            (Suspicion.FORBIDDEN_CALL,),
            id="looks into another process",
        ),
        pytest.param(
            STDIN,
            "import socket\ntry: socket.socket()\nexcept OSError: pass\nprint(1)\n",
            (Suspicion.NETWORK,),
            id="wants a network",
        ),
    ],
)
def test_report_names_the_signs(
    grader: Grader, suite: TestSuite, code: str, signs: tuple[Suspicion, ...]
) -> None:
    report = grader.grade(Submission(id="it", completion=code, suite=suite))
    assert report.suspicion == signs, report.feedback
    assert (report.verdict is Verdict.PASSED) == ("x * x" in code)
