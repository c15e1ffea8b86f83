"""What a submission may import that provably keeps nothing."""

from grader.execution.standing import is_listed

_TYPING = frozenset(
    "Callable Final Generator Hashable Iterable Iterator Literal Mapping Sequence Type "
    "TypeVar".split()
)


def may_be_imported(module: str, name: str) -> bool:
    """Tell whether a submission without a state may import a name of a module."""
    if module == "abc":
        return name in ("ABC", "abstractmethod")
    if module == "dataclasses":
        return name == "dataclass"
    if module == "functools":
        return name in ("cmp_to_key", "partial", "reduce", "total_ordering")
    if module == "__future__":
        return True
    if module == "typing" and name in _TYPING:
        return True
    return module != "random" and is_listed(module, name)
