"""Notice when the submission looks at the tests that share its process.

Honest code seldom asks for the frames above its own, for all objects, or for the files of its
tests. If it does, that is only a sign and changes no verdict. Code that knows this module can hide
it.
"""

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

_FRAMES = frozenset({"sys._getframe", "sys._current_frames", "sys.settrace", "sys.setprofile"})
_OBJECTS = frozenset({"gc.get_objects", "gc.get_referrers", "gc.get_referents"})
_GO_BETWEENS = ("/inspect.py", "/traceback.py")
_MOST_FRAMES = 12


def watch(source_path: str, test_paths: list[str], tell: Callable[[str], object]) -> None:
    """Report each kind of look that the submission takes from now on, once.

    Args:
        source_path: The file name of the submission's code.
        test_paths: Paths of the suite's files.
        tell: Takes the kind: "frames", "objects" or "tests".
    """
    tests = frozenset(test_paths)
    told: set[str] = set()
    get_frame = sys._getframe
    is_looking = False

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal is_looking
        if event in _FRAMES:
            kind = "frames"
        elif event in _OBJECTS:
            kind = "objects"
        elif event == "open" and _path(args[0]) in tests:
            kind = "tests"
        else:
            return
        if is_looking or kind in told:
            return
        is_looking = True  # `get_frame` is an event, too
        try:
            if _is_asked_by(get_frame(1), source_path, through_anything=kind == "tests"):
                told.add(kind)
                tell(kind)
        finally:
            is_looking = False

    sys.addaudithook(hook)


def _path(opened: object) -> str | None:
    """Return the absolute path of a file that is opened by name."""
    if isinstance(opened, bytes):
        opened = os.fsdecode(opened)
    return os.path.join(os.getcwd(), opened) if isinstance(opened, str) else None


def _is_asked_by(frame: FrameType | None, source_path: str, *, through_anything: bool) -> bool:
    """Tell whether the submission's code asks, by itself or through the library."""
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return False
        name = frame.f_code.co_filename
        if name == source_path:
            return True
        if not through_anything and not name.endswith(_GO_BETWEENS):
            return False  # much of the library looks at its caller's frame
        frame = frame.f_back
    return False
