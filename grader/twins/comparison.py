"""The comparison that strict suites make: `grader.twins.strict` writes this function into them.

It runs in one process with the submission, and never here. So it imports nothing, and asks for
`[0].__class__` and not for `list`, and asserts instead of raising, since a submission can replace a
builtin name.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any


def strict_comparison(
    secret: str,
    others: Sequence[Callable[[Any], Any]],
    turns: Sequence[int],
    most: int,
    most_items: int,
    containers: bool,
    libraries: Collection[str],
    own_modules: Collection[str],
    own_classes: Collection[str],
) -> Callable[..., Any]:
    """Return a function that compares two values and notices one that equals most others.

    Args:
        secret: The message of the error that is raised then.
        others: Each makes another value of one. The first makes a new object.
        turns: How many of the others are met before the comparison itself, the rest after it; one
            number for each comparison, in turn.
        most: How often each comparison of the source is strict. After that it is made as usual.
        most_items: How many items of a value are looked at to tell whether it may be loose.
        containers: Whether a value that is no list or tuple must not contain others either.
        libraries: Modules whose objects may honestly equal many values.
        own_modules: The suite's own modules of which the same is true.
        own_classes: The suite's own classes of which it is true, if it shares a namespace with the
            submission.
    """
    made: dict[int, int] = {}
    class_of = (0).__class__.__class__  # not `.__class__`, about which an object may lie
    list_class, tuple_class, dict_class = [0].__class__, (0,).__class__, {0: 0}.__class__
    bool_class, int_class = (not 0).__class__, (0).__class__

    def is_loose(value: Any) -> bool:
        """Tell whether a value, or one in it, may honestly equal many."""
        pending = [value]
        try:
            for each in pending:
                kind = class_of(each)
                module = kind.__module__
                if module in own_modules or (module[:8] == "_pytest." and "_pytest" in libraries):
                    return True
                if kind.__name__ in own_classes and here.get(kind.__name__) is kind:
                    return True
                if module in libraries:
                    place = __import__("sys").modules.get(module)
                    if getattr(place, kind.__name__, None) is kind:
                        return True
                if kind in (list_class, tuple_class, dict_class):
                    if len(pending) + len(each) > most_items:
                        return False
                    pending += each.values() if kind is dict_class else each
        except Exception:  # noqa: BLE001, S110 - only a submission's class is so unusual
            pass
        return False

    here = is_loose.__globals__

    def is_answer(result: Any) -> bool:
        """Tell whether a comparison gave a truth value, and not for example a query's condition."""
        return class_of(result) in (bool_class, int_class)

    def compare(left: Any, right: Any, operator: str) -> Any:
        if "in" in operator:
            return left in right if operator == "in" else left not in right
        return left == right if operator == "==" else left != right

    def other_values(
        left: Any, right: Any, operator: str, loose: Collection[bool]
    ) -> Sequence[Callable[[Any], Any]]:
        if "in" in operator:
            if not [each for each in class_of(right).__mro__ if "__contains__" in each.__dict__]:
                return []  # the comparison itself uses up an iterator
            return [others[0]] * len(others)
        if [v for v in (left, right) if class_of(v) in (list_class, tuple_class) and not v]:
            return []  # a value without items may honestly equal one with some
        return [others[0]] * len(others) if any(loose) else others

    def compared(
        left: Any, right: Any, operator: str, place: int, is_value: bool, as_pair: bool
    ) -> Any:
        number = made.get(place, 0)
        if number > most:
            return (left, right) if as_pair else compare(left, right, operator)
        made[place] = number + 1
        before = turns[(place + number) % len(turns)]
        is_in = "in" in operator
        loose = is_loose(left), is_loose(right)
        met = [0, 0]

        def holds(one: Any, two: Any, asked: str) -> bool:
            """Tell whether a further comparison holds, or ends the test."""
            try:
                result = compare(one, two, asked)
                return (not is_value or is_answer(result)) and bool_class(result)
            except Exception:  # noqa: BLE001 - a right value may refuse to be compared
                return False
            except BaseException:  # noqa: BLE001 - it skips or exits
                return True

        def meet(other: Callable[[Any], Any]) -> None:
            for side in (0, 1):
                is_left = is_in == (side == 0)
                is_container = is_in and class_of(right) not in (list_class, tuple_class)
                if loose[is_left] or (is_container and not containers):
                    continue  # it may honestly equal or contain many values
                try:
                    one, two = (other(left), right) if is_left else (left, other(right))
                except Exception:  # noqa: BLE001, S112 - there is no other value
                    continue
                met[side] += holds(one, two, "in" if is_in and is_left else "==")

        further = other_values(left, right, operator, loose)
        for other in further[:before]:
            meet(other)
            # What equals a new object may equal just that from now on.
            assert other is not others[0] or met == [0, 0], secret  # noqa: S101
        try:
            result = compare(left, right, operator)
            is_true = bool_class(result)
        except Exception:  # noqa: BLE001 - the test sees it as it would without this function
            return (left, right) if as_pair else compare(left, right, operator)
        if is_value and not is_answer(result):
            return result
        for other in further[before:]:
            meet(other)
        if is_true != (operator in ("!=", "not in")):
            assert max(met) < len(others) - 1, secret  # noqa: S101
        return (left, right) if as_pair else result

    return compared
