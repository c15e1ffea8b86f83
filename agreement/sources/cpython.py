"""CPython's own tests over modules of its standard library that are written in Python.

Modules and tests are those of the Python that runs this, if it came with its tests, else those of
Debian's packages of the same version.
"""

import ast
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from agreement.edits import Edit, Text
from agreement.pairs import Found, Judge, Pair
from agreement.sources.trimmed import trim
from grader.model import PytestTests, SuiteFile, TestSuite

SOLUTION = "solution"
"""The name by which the tests import the submission instead of the module."""

MODULES = """
    _collections_abc:userdict _markupbase:htmlparser _py_abc:abc _pydecimal:decimal
    _strptime:strptime _weakrefset:weakset argparse base64 bdb bisect calendar cgi cmd
    code:code_module codeop collections collections:defaultdict collections:ordered_dict
    collections:userdict collections:userlist collections:userstring colorsys configparser
    contextlib copy copyreg csv dataclasses difflib dis enum filecmp fileinput fnmatch
    fractions functools genericpath getopt gettext glob graphlib heapq hmac html
    html.parser:htmlparser inspect ipaddress keyword linecache mailcap mimetypes netrc
    nturl2path:urllib numbers:abstract_numbers opcode:_opcode operator optparse pathlib pickle
    pickletools pkgutil plistlib posixpath pprint pyclbr queue quopri random reprlib
    rlcompleter runpy sched secrets selectors shelve shlex shutil stat statistics
    string stringprep symtable tabnanny tempfile textwrap timeit tokenize trace traceback
    types typing urllib.parse:urlparse urllib.robotparser:robotparser uu uuid wave weakref
    webbrowser xdrlib xml.dom.minidom:minidom zipapp zipfile
""".split()
"""Modules, with their tests if these have another name."""

KEEP = frozenset({"collections"})
"""Modules that need their counterpart in C."""

_PACKAGES = ("libpython{}-testsuite", "libpython{}-stdlib", "libpython{}-minimal")


def read(cache: Path, judge: Judge, jobs: int) -> Found:
    """Return a pair for each module, without the tests that plain Python does not pass here."""
    try:
        library = _library(cache)
    except (OSError, subprocess.CalledProcessError) as error:
        return Found(missing={"cpython": f"no tests of Python's own: {error}"})
    pairs = []
    missing: dict[str, str] = {}
    for entry in MODULES:
        module, _, test = entry.partition(":")
        name = f"test_{test or module}"
        id = f"{module}/{name}"
        try:
            pairs.append(_pair(library, module, name, id))
        except (OSError, SyntaxError) as error:
            missing[id] = f"{type(error).__name__}: {error}"
    found = trim(pairs, judge, jobs)
    return replace(found, missing=missing | dict(found.missing))


def _library(cache: Path) -> Path:
    """Return a standard library with its tests.

    Raises:
        OSError: There is none, and no apt-get to fetch it with.
        CalledProcessError: It cannot be fetched.
    """
    own = Path(sysconfig.get_path("stdlib"))
    if (own / "test/test_heapq.py").exists():
        return own
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    library = cache / "usr/lib" / f"python{version}"
    if not (library / "test/test_heapq.py").exists():
        cache.mkdir(parents=True, exist_ok=True)
        names = [name.format(version) for name in _PACKAGES]
        subprocess.run(["apt-get", "download", "-qq", *names], cwd=cache, check=True)
        for package in cache.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package.name, "."], cwd=cache, check=True)
    return library


def _pair(library: Path, module: str, name: str, id: str) -> Pair:
    code = _without_accelerator(_source_of(library, module), module)
    test = _test_module(library / "test", name)
    files = {f"{name}.py": _turned(test.read_text("utf-8"), module).encode()}
    files |= _helpers(library, files.values())
    suite = TestSuite(
        tests=PytestTests(
            files=tuple(SuiteFile(path=path, content=content) for path, content in files.items()),
            test_paths=(f"{name}.py",),
            solution_path=f"{SOLUTION}.py",
        ),
        format="pytest",
    )
    return Pair(id=id, code=code, suite=suite, reference=code)


def _test_module(folder: Path, name: str) -> Path:
    package = folder / name
    candidates = (folder / f"{name}.py", package / f"{name}.py", package / "__init__.py")
    return next((path for path in candidates if path.exists()), candidates[0])


def _source_of(library: Path, module: str) -> str:
    path = library / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")
    return file.read_text("utf-8")


def _without_accelerator(source: str, module: str) -> str:
    """Return a module's source without its import from its counterpart in C."""
    if module in KEEP:
        return source
    text = Text(source)
    edits = []
    for node in ast.walk(text.tree):
        match node:
            case ast.Try(body=[ast.ImportFrom(module=name)]) if name == f"_{module}":
                instead = [*node.handlers[0].body] if node.handlers else []
                lines = ast.unparse(ast.Module(instead or [ast.Pass()], []))
                indent = " " * node.col_offset
                edits.append(text.over(node, lines.replace("\n", f"\n{indent}")))
            case _:
                pass
    return text.edited(edits)


def _turned(source: str, module: str) -> str:
    """Return a test module's source that imports the submission instead of a module."""
    text = Text(source)
    return text.edited(_turns(text, module))


def _turns(text: Text, module: str) -> Iterator[Edit]:
    for node in ast.walk(text.tree):
        match node:
            case ast.Import(names=names) if any(alias.name == module for alias in names):
                yield text.over(node, f"import {', '.join(_turned_names(names, module))}")
            case ast.Attribute() if "." in module and ast.unparse(node) == module:
                yield text.over(node, SOLUTION)
            case ast.ImportFrom(module=name, names=names, level=0) if name == module:
                listed = ", ".join(ast.unparse(alias) for alias in names)
                yield text.over(node, f"from {SOLUTION} import {listed}")
            case ast.Call(func=function, args=[ast.Constant(value=str(name)) as first, *_]):
                called = ast.unparse(function).rpartition(".")[2]
                if called in ("import_fresh_module", "import_module") and name == module:
                    yield text.over(first, repr(SOLUTION))
                if called == "patch" and name.startswith(f"{module}."):
                    yield text.over(first, repr(SOLUTION + name.removeprefix(module)))
            case _:
                pass


def _turned_names(names: Iterable[ast.alias], module: str) -> Iterator[str]:
    for alias in names:
        if alias.name != module:
            yield ast.unparse(alias)
        elif alias.asname is None and "." in module:
            yield SOLUTION
        else:
            yield f"{SOLUTION} as {alias.asname or module}"


_HELPER = re.compile(
    rb"^\s*(?:from test import ([\w, ]+)|(?:from|import) test\.(\w+))", re.MULTILINE
)


def _helpers(library: Path, sources: Iterable[bytes]) -> dict[str, bytes]:
    """Return the files of CPython's test package that sources import, directly or indirectly."""
    found: dict[str, bytes] = {}
    pending = list(sources)
    while pending:
        for listed, dotted in _HELPER.findall(pending.pop()):
            names = [*listed.decode().replace(",", " ").split(), dotted.decode()]
            for name in filter(None, names):
                for file in _files_of(library, name):
                    path = str(file.relative_to(library))
                    if path not in found:
                        found[path] = file.read_bytes()
                        pending.append(found[path])
    return found


def _files_of(library: Path, name: str) -> Iterator[Path]:
    test = library / "test"
    if (test / name).is_dir() or (test / f"{name}.py").is_file():
        yield test / "__init__.py"
    if (test / name).is_dir():
        yield from (test / name).glob("*.py")
    elif (test / f"{name}.py").is_file():
        yield test / f"{name}.py"
