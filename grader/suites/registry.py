"""All known label formats, and which of them a row has."""

from grader.model.errors import LabelError
from grader.suites.format import Format, Row, present
from grader.suites.formats import (
    appended,
    bigcodebench,
    codecontests,
    cruxeval,
    ds1000,
    envelopes,
    evalplus,
    exercism,
    folder,
    humaneval,
    interactive,
    leetcode,
    livecodebench,
    mbpp,
    mercury,
    multipl_e,
    plain,
    quixbugs,
    sandboxfusion,
    stdio,
    styled,
    unittests,
)

FORMATS: tuple[Format, ...] = (
    humaneval.HUMANEVAL,
    humaneval.HUMANEVALPACK,
    mbpp.MBPP,
    mbpp.MBPPPLUS,
    evalplus.EVALPLUS,
    leetcode.LEETCODE,
    mercury.MERCURY,
    cruxeval.CRUXEVAL,
    multipl_e.MULTIPL_E,
    appended.MCEVAL,
    bigcodebench.BIGCODEBENCH,
    unittests.CLASSEVAL,
    unittests.KODCODE,
    ds1000.DS1000,
    quixbugs.QUIXBUGS,
    exercism.EXERCISM,
    folder.FOLDER,
    livecodebench.LIVECODEBENCH,
    codecontests.CODECONTESTS,
    interactive.INTERACTIVE,
    sandboxfusion.SANDBOXFUSION,
    stdio.APPS,
    stdio.PARALLEL,
    stdio.TEST_CASES,
    stdio.VERIFICATION_INFO,
    plain.ASSERTS,
    plain.SOURCE,
    styled.STYLED,
    envelopes.VERL,
    envelopes.SKYRL,
    envelopes.RLLM,
    envelopes.NEMO_GYM,
    envelopes.LABEL,
    envelopes.PROBLEM,
)
"""In any order. If several recognise a row, only `Format.precedes` decides between them."""

_SHOWN_FIELDS = 20
_SHOWN_FORMATS = 3


def recognising(row: Row) -> list[Format]:
    """Return all formats that recognise a row."""
    has = present(row)
    return [candidate for candidate in FORMATS if candidate.recognises(row, has)]


def recognise(row: Row) -> Format:
    """Return the format of a row.

    Raises:
        LabelError: No format recognises it, or several do and none of them precedes all others.
    """
    found = recognising(row)
    beaten = {name for candidate in found for name in candidate.precedes}
    best = [candidate for candidate in found if candidate.name not in beaten]
    if len(best) == 1:
        return best[0]
    raise LabelError(_ambiguous(row, best) if best else _unknown(row))


def _ambiguous(row: Row, found: list[Format]) -> str:
    names = ", ".join(candidate.name for candidate in found)
    return f"the label fits several formats: {names}; its fields: {_fields(row)}"


def _unknown(row: Row) -> str:
    return f"the label is in no known format; its fields: {_fields(row)}; {_nearest(row)}"


def _fields(row: Row) -> str:
    names = sorted(present(row))
    more = [f"and {len(names) - _SHOWN_FIELDS} more"] if len(names) > _SHOWN_FIELDS else []
    return ", ".join([*names[:_SHOWN_FIELDS], *more]) or "none"


def _nearest(row: Row) -> str:
    """Return the formats that the row comes closest to, and what it lacks for each."""
    has = present(row)
    near: list[tuple[int, int, str]] = []
    for order, candidate in enumerate(FORMATS):
        if candidate is envelopes.PROBLEM:
            continue  # its only field is an id, which every row has
        wanted = min(candidate.fields, key=lambda names: len(names - has))
        if wanted & has and len(wanted - has) <= len(wanted & has):
            lacks = ", ".join(sorted(wanted - has))
            reason = f"lacks {lacks}" if lacks else "has its fields, but with other contents"
            near.append((len(wanted - has), order, f"{candidate.name} ({reason})"))
    if not near:
        return "`grader formats` lists the known ones"
    return f"nearest: {', '.join(text for _, _, text in sorted(near)[:_SHOWN_FORMATS])}"
