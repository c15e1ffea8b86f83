"""Programs that a compiler executes while it compiles them.

The compiler here is Perl's own check, which executes `BEGIN` blocks. What it leaves in the work
area are the files of the runs.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from grader import languages
from grader.judging.languages import find_compile_error
from grader.languages import COMPILE_LIMITS
from grader.model import MiB
from grader.model.verdict import LimitKind
from grader.sandbox.contract import Commands, Program, RunBatch, RunOutcome, Slot
from tests.hostile.conftest import LIMITS

_ADD = 'my ($first, $second) = split " ", <STDIN>;\n'
_LARGE = 'BEGIN {{ if ($^C) {{ open my $file, ">", "table"; truncate $file, {} << 20; }} }}\n'


def outcomes(slot: Slot, code: str, *, memory_bytes: int = 160 * MiB) -> tuple[RunOutcome, ...]:
    """Return how the compiler ended and, if it made something, how that ended."""
    batch = RunBatch(
        program=Program.COMMAND,
        source=code,
        source_path="solution.pl",
        runs=(b"20 22\n",),
        limits=replace(LIMITS, memory_bytes=memory_bytes),
        commands=Commands(
            compile=("perl", "-c", "solution.pl"),
            run=("perl", "solution.pl"),
            compile_limits=COMPILE_LIMITS,
        ),
    )
    return tuple(slot.run(batch))


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        pytest.param(_LARGE.format(100) + _ADD + "print $first + $second;", b"42", id="large file"),
        pytest.param(
            """
BEGIN {
    if ($^C) {
        require POSIX;
        POSIX::mkfifo("pipe", 0600);
        symlink "/etc/passwd", "link";
        mkdir "folder";
        open my $file, ">", "folder/\\xff\\n" or die;
        print $file "x";
    }
}
"""
            + _ADD
            + 'print -e "pipe" || -l "link" ? "kept" : $first + $second;',
            b"42",
            id="odd files",
        ),
        pytest.param(
            """
BEGIN {
    open my $file, ">", "solution.pl";
    print $file "\\xff\\xfe";
    close $file;
    mkdir "a";
    symlink "/etc/passwd", "a/b";
}
print "nothing";
""",
            b"",
            id="another source",
        ),
    ],
)
def test_runs_get_the_plain_files_that_compiling_left(
    open_slot: Callable[[], Slot], code: str, printed: bytes
) -> None:
    compiled, run = outcomes(open_slot(), code)
    assert (compiled.exit_code, compiled.limit_hit) == (0, None)
    assert run.stdout == printed


def test_files_that_compiling_left_count_as_memory_of_a_run(open_slot: Callable[[], Slot]) -> None:
    code = _LARGE.format(100) + "print 42;"
    _compiled, run = outcomes(open_slot(), code, memory_bytes=64 * MiB)
    assert run.limit_hit is LimitKind.MEMORY


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(
            """
for my $number (3 .. 40) {
    open my $file, ">>", "/proc/" . getppid . "/fd/$number" or next;
    syswrite $file, qq({"e": "compile_error"}\\n{"e": "refused"}\\n{"e": "done"}\\n[\\0\\xff\\n);
}
""",
            id="forges the report",
        ),
        pytest.param('kill "KILL", getppid, 1, -1;', id="ends what compiles it"),
    ],
)
def test_attack_on_what_compiles_a_program_is_a_compile_error(
    open_slot: Callable[[], Slot], attack: str
) -> None:
    slot = open_slot()
    compiled, *_ = outcomes(slot, f"BEGIN {{ {attack} }}\nprint 7;\n")
    perl = languages.languages()["perl"]
    assert find_compile_error(compiled, perl, COMPILE_LIMITS) is not None
    compiled, run = outcomes(slot, "print 7;\n")
    assert run.stdout == b"7"
