"""Joins blocks of one answer that need each other, such as a helper in one and its use in the next.

Only the statements that define what a block uses and lacks are taken from other blocks. So what
these print or try out is left out.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from grader.extract.continuation import definitions, put_before
from grader.extract.source import SourceReading
from grader.source.names import bound_names, names_read


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A statement at the top of a block that binds names."""

    line: int
    source: str
    uses: set[str]


def complete(
    code: SourceReading, earlier: Sequence[SourceReading], later: Sequence[SourceReading]
) -> str | None:
    """Return code after what it uses of other blocks.

    If several blocks define a name, the nearest earlier one counts, else the nearest later one.

    Args:
        code: A block that parses.
        earlier: The blocks before it that parse, the nearest first.
        later: The blocks after it that parse, the nearest first.

    Returns:
        None if they define nothing that it lacks.
    """
    blocks = {-number: _parts(other) for number, other in enumerate(earlier, start=1)}
    blocks |= {number: _parts(other) for number, other in enumerate(later, start=1)}
    taken: dict[tuple[int, int], _Part] = {}
    seen = set(code.bound)
    lacking = sorted(code.missing)
    while lacking:
        name = lacking.pop()
        if name in seen:
            continue
        seen.add(name)
        for number, parts in blocks.items():
            if name in parts:
                found = {(number, part.line): part for part in parts[name]}
                lacking += [used for key in found.keys() - taken for used in found[key].uses]
                taken |= found
                break
    if not taken:
        return None
    return put_before(code, [taken[key].source for key in sorted(taken)])


def _parts(reading: SourceReading) -> dict[str, list[_Part]]:
    """Return the statements of a block that bind names, by these names."""
    body: list[ast.stmt] = reading.tree.body if reading.tree else []
    found: dict[str, list[_Part]] = {}
    for node, source, names in definitions(reading.code, body):
        uses = names_read(node).difference(bound_names([node]))
        part = _Part(line=node.lineno, source=source, uses=uses)
        for name in names:
            found.setdefault(name, []).append(part)
    return found
