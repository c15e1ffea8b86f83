"""Problem packages: the ICPC's problem package format, and packages of Codeforces' Polygon.

A package is a folder or a zip file. It holds the cases of one problem, perhaps a checker or an
interactor, and submissions, each with the verdicts that its folder or its tag expects.
"""

from pathlib import Path, PurePosixPath

from grader.model.errors import InputError
from grader.offline.package_files import read_files
from grader.offline.package_icpc import read_icpc
from grader.offline.package_parts import Package, ProblemPackage
from grader.offline.package_polygon import read_polygon

_MARKS = ("problem.yaml", "problem.xml")


def is_package(path: Path) -> bool:
    """Tell whether a path is a zip file, or a folder with a package's description."""
    return path.suffix == ".zip" or any((path / mark).is_file() for mark in _MARKS)


def read_package(path: Path) -> ProblemPackage:
    """Read a package.

    Args:
        path: A folder or a zip file. In a zip file, the package may be in a folder.

    Raises:
        InputError: It is not a package, is damaged, or needs something that is not supported.
        LabelError: It has too many cases.
    """
    files = read_files(path)
    tops = sorted((name for name in files if PurePosixPath(name).name in _MARKS), key=len)
    if not tops:
        message = f"{path} is not a problem package: it has neither {' nor '.join(_MARKS)}"
        raise InputError(message)
    top, _, mark = tops[0].rpartition("/")
    below = f"{top}/" if top else ""
    package = Package(
        path=path,
        files={
            name.removeprefix(below): read for name, read in files.items() if name.startswith(below)
        },
    )
    return read_icpc(package) if mark == "problem.yaml" else read_polygon(package)
