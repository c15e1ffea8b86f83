"""The end of a program as CPython makes it: `PyErr_Print`, `Py_FinalizeEx`, an exit status.

This takes the steps that a program can see, one by one, in CPython's order. To finalise the real
interpreter would touch, and so copy, most of the zygote's pages. That takes 5 ms; the rest of a run
takes 2 ms.
"""

import _signal  # type: ignore[import-not-found]  # `signal` makes an enum of every handler
import atexit
import builtins
import contextlib
import gc
import signal
import sys
import traceback
import weakref
from types import ModuleType
from typing import Any

_BUILTINS = dict(vars(builtins))
_STREAMS = ("stdin", "stdout", "stderr")
_HOOKS = ("excepthook", "displayhook", "breakpointhook", "unraisablehook")
_OF_SYS = frozenset(vars(sys))
_FLUSH_FAILED = 120


def flush_quietly() -> None:
    """Flush the current standard streams, as the interpreter does after the last statement."""
    for name in ("stderr", "stdout"):
        with contextlib.suppress(BaseException):
            getattr(sys, name).flush()


def print_uncaught(error: BaseException) -> int:
    """Print an exception that ended the program, and return the exit status that it gives."""
    if isinstance(error, SystemExit):
        return _status_of(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    hook = getattr(sys, "excepthook", None) or sys.__excepthook__
    try:
        hook(type(error), error, error.__traceback__)
    except SystemExit as left:
        return _status_of(left)
    except BaseException as broken:  # noqa: BLE001 - the program wrote this hook
        _say("Error in sys.excepthook:\n", *_formatted(broken, own_frames=1))
        _say("\nOriginal exception was:\n", *_formatted(error))
    return 1


def _status_of(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    _say(error.code, "\n")
    return 1


def finalise(status: int, *, names_builtins: bool) -> int:
    """Do what the interpreter does after the last statement of `__main__`.

    Waits for threads, runs exit handlers, flushes, drops everything that the program made, so that
    its files are flushed, too, and flushes again.

    Args:
        status: The exit status so far.
        names_builtins: Whether the program may have changed builtins. To compare all of them would
            copy their pages.

    Returns:
        The final exit status.
    """
    _join_threads()
    atexit._run_exitfuncs()
    flushed = [_flush_standard(name) for name in _STREAMS[1:]]
    for number in range(1, signal.NSIG):
        if callable(_signal.getsignal(number)):
            _signal.signal(number, _signal.SIG_DFL)
    _collect()
    with contextlib.suppress(BaseException):  # `__main__` was replaced, or cannot be cleared
        _destroy_main(names_builtins=names_builtins)
    return status if all(flushed) else _FLUSH_FAILED


def _join_threads() -> None:
    """Wait for the program's threads, if it has ever had any."""
    threading = sys.modules.get("threading")
    if threading is not None:
        try:
            threading._shutdown()
        except BaseException as error:  # noqa: BLE001 - an interrupt, or a hook of the program's
            _ignore(threading, error)


def _flush_standard(name: str) -> bool:
    """Flush the current standard stream of a name; tell whether that succeeded."""
    stream: Any = getattr(sys, name, None)
    if stream is None or _is_closed(stream):
        return True
    try:
        stream.flush()
    except BaseException as error:  # noqa: BLE001 - the program may have put anything there
        if name == "stdout":
            _ignore(stream, error)
        return False
    return True


def _is_closed(stream: Any) -> bool:
    try:
        return bool(stream.closed)
    except BaseException:  # noqa: BLE001 - as above
        return False


def _collect() -> None:
    """Collect all garbage. That is cheaper if the oldest generation is empty."""
    gc.collect(2 if gc.get_objects(generation=2) else 1)


def _destroy_main(*, names_builtins: bool) -> None:
    """Drop what the program made, and put back the streams and builtins that it replaced."""
    for name in ("last_type", "last_value", "last_traceback"):
        vars(sys).pop(name, None)
    for name in _STREAMS:
        setattr(sys, name, getattr(sys, f"__{name}__"))
    main = weakref.ref(sys.modules.pop("__main__"))
    namespace = vars(builtins)
    if names_builtins and namespace != _BUILTINS:
        changed = namespace.copy()  # its values must end only after the usual ones are back
        namespace.clear()
        namespace.update(_BUILTINS)
        del changed
    _collect()
    left = main()
    if left is not None:
        _clear(left)
    _clear_sys()
    _collect()


def _clear_sys() -> None:
    """Flush the streams, and drop what the program has put into `sys`."""
    streams = [sys.__stdout__, sys.__stderr__]
    while streams:
        with contextlib.suppress(BaseException):
            streams.pop(0).flush()  # type: ignore[union-attr]
    namespace = vars(sys)
    for name in _HOOKS:
        namespace[name] = namespace[f"__{name}__"]
    if len(namespace) != len(_OF_SYS):
        for name in list(namespace):
            if name not in _OF_SYS or name.strip("_") in _STREAMS:
                namespace[name] = None


def _clear(module: ModuleType) -> None:
    """Clear a module that something still holds, the private names first."""
    namespace = vars(module)
    for is_turn in (lambda name: name[:1] == "_" != name[1:2], lambda name: name != "__builtins__"):
        for name in filter(is_turn, list(namespace)):
            namespace[name] = None


def _ignore(where: object, error: BaseException) -> None:
    """Print what `sys.unraisablehook` would. Only the interpreter can call that."""
    if getattr(sys, "stderr", None) is not None:
        _say(f"Exception ignored in: {where!r}\n", *_formatted(error, own_frames=1))


def _formatted(error: BaseException, own_frames: int = 0) -> list[str]:
    """Return an exception's lines, without frames of this module; none without a stderr."""
    if getattr(sys, "stderr", None) is None:
        return []
    found = error.__traceback__
    for _ in range(own_frames):
        found = found and found.tb_next
    return traceback.format_exception(error.with_traceback(found))


def _say(*texts: object) -> None:
    """Write to standard error, whatever that is by now."""
    with contextlib.suppress(BaseException):
        stream: Any = getattr(sys, "stderr", None) or sys.__stderr__
        stream.write("".join(map(str, texts)))
