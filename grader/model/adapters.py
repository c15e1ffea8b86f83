"""pydantic's adapters of records, each made once."""

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_Record = TypeVar("_Record")

_made: dict[type, Any] = {}


def adapter(record: type[_Record]) -> "TypeAdapter[_Record]":
    """Return the adapter of a record.

    Importing pydantic takes 80 ms, so commands that need no adapter do not import it.
    """
    if record not in _made:
        from pydantic import TypeAdapter

        _made[record] = TypeAdapter(record)
    made: TypeAdapter[_Record] = _made[record]
    return made
