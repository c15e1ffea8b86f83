"""The instructions of a filter of system calls, and their order.

A filter is classic BPF over the call's number, machine and arguments. It looks the number up by
binary search, so that a call costs some seven comparisons however long the list is.
"""

import errno
import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sandbox_images.harness.kernel.syscalls import LAST_KNOWN

# Offsets into the record that the filter sees (struct seccomp_data); both machines are
# little-endian, so an argument's low half comes first.
_NUMBER = 0
_MACHINE = 4
_ARGUMENTS = 16
HALF = 4

_AUDIT_MACHINE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_LOAD = 0x20
_JUMP = 0x05
JUMP_IF_EQUAL = 0x15
_JUMP_IF_AT_LEAST = 0x35
JUMP_IF_ANY_BIT = 0x45
_RETURN = 0x06

ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000
NOTIFY = 0x7FC00000

_LONGEST_JUMP = 255


class Instruction(NamedTuple):
    """One instruction; the jumps count the instructions to skip."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0


Block = tuple[Instruction, ...]
"""Instructions that return on every path."""


def assemble(blocks: Mapping[int, Block], machine: str) -> bytes:
    """Return a filter as the kernel takes it.

    Args:
        blocks: The instructions for each known call, by its number.
        machine: As `os.uname().machine` names it.
    """
    program = (
        Instruction(_LOAD, _MACHINE),
        Instruction(JUMP_IF_EQUAL, _AUDIT_MACHINE[machine], if_true=1),
        answer_with(_KILL_PROCESS),
        Instruction(_LOAD, _NUMBER),
        *_Search().instructions(list(_ranges(blocks, x32=machine == "x86_64"))),
    )
    return b"".join(struct.pack("<HBBI", i.code, i.if_true, i.if_false, i.value) for i in program)


def answer_with(action: int) -> Instruction:
    """Return the instruction that ends the filter with an answer."""
    return Instruction(_RETURN, action)


def refuse(error: int) -> Instruction:
    """Return the instruction by which a call fails with an error."""
    return answer_with(_ERRNO | error)


def load_argument(index: int) -> Instruction:
    """Return the instruction that loads the low half of an argument, counted from 0."""
    return Instruction(_LOAD, _ARGUMENTS + 8 * index)


def _ranges(blocks: Mapping[int, Block], *, x32: bool) -> Iterator[tuple[int, Block]]:
    """Yield the start of each range of numbers with the same answer, in order from 0."""
    previous: Block | None = None
    for number in range(LAST_KNOWN + 1):
        block = blocks.get(number, (refuse(errno.EPERM),))
        if block != previous:
            yield number, block
        previous = block
    yield LAST_KNOWN + 1, (refuse(errno.ENOSYS),)
    if x32:
        yield _X32_BIT, (answer_with(_KILL_PROCESS),)


class _Search:
    """Instructions that find the range of the loaded number and give its answer.

    They are put down from the last to the first, since jumps only go forward. Ranges share an
    answer if a jump can reach it, since each instruction costs every run time when the filter is
    installed.
    """

    def __init__(self) -> None:
        self._backwards: list[Instruction] = []
        self._answers: dict[Instruction, int] = {}
        """Where in the list each answer was put down last."""

    def instructions(self, ranges: list[tuple[int, Block]]) -> Block:
        """Return them in order."""
        self._put_search(ranges)
        return tuple(reversed(self._backwards))

    def _put_search(self, ranges: list[tuple[int, Block]]) -> int:
        """Put down the search in some ranges, and return where it begins."""
        if len(ranges) == 1:
            return self._put_block(ranges[0][1])
        middle = len(ranges) // 2
        high, low = self._put_search(ranges[middle:]), self._put_search(ranges[:middle])
        high, low = self._within_reach(high), self._within_reach(low)
        jumps = {"if_true": self._distance(high), "if_false": self._distance(low)}
        return self._put(Instruction(_JUMP_IF_AT_LEAST, ranges[middle][0], **jumps))

    def _put_block(self, block: Block) -> int:
        answer = block[0]
        if len(block) > 1:
            return [self._put(each) for each in reversed(block)][-1]
        if answer not in self._answers or self._distance(self._answers[answer]) > _LONGEST_JUMP:
            self._answers[answer] = self._put(answer)
        return self._answers[answer]

    def _within_reach(self, at: int) -> int:
        """Return a place that the next instruction can jump to, and that leads to another."""
        if self._distance(at) < _LONGEST_JUMP:  # less, since one more may come between
            return at
        target = self._backwards[at]
        is_answer = target.code == _RETURN
        return self._put(target if is_answer else Instruction(_JUMP, self._distance(at)))

    def _distance(self, at: int) -> int:
        """Return how many instructions the next one skips if it jumps to a place."""
        return len(self._backwards) - 1 - at

    def _put(self, instruction: Instruction) -> int:
        self._backwards.append(instruction)
        return len(self._backwards) - 1
