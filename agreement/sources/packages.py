"""Small packages whose source distributions contain their tests."""

import fnmatch
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from agreement.pairs import Found, Judge, Pair
from agreement.sources.trimmed import trim
from grader.model import PytestTests, SuiteFile, TestSuite

_SUFFIXES = (
    ".py",
    ".txt",
    ".json",
    ".cfg",
    ".csv",
    ".toml",
    ".yaml",
    ".yml",
    ".mo",
    ".html",
    ".sql",
)
_LARGEST_BYTES = 2 << 20
_NOT_WANTED = tuple(
    "setup.py setup.cfg pyproject.toml tox.ini pytest.ini docs/* bench* examples/* tools/*".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A release, and the modules that its tests test."""

    release: str
    modules: Mapping[str, str]
    """The tests of each module, as a pattern; `*` in a module stands for any with such tests."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Modules that are left out, with the reason."""


PACKAGES = (
    Package(release="addict==2.4.0", modules={"addict/addict.py": "test_addict.py"}),
    Package(
        release="boltons==26.2.0",
        modules={"boltons/*.py": "tests/test_*.py"},
        left_out={"boltons/socketutils.py": "its tests wait for each other over sockets"},
    ),
    Package(
        release="cachetools==8.0.2",
        modules={
            "cachetools/__init__.py": "tests/test_*.py",
            "cachetools/keys.py": "tests/test_keys.py",
        },
    ),
    Package(release="first==2.0.2", modules={"first.py": "test_first.py"}),
    Package(release="funcy==2.1", modules={"funcy/*.py": "tests/test_*.py"}),
    Package(release="humanize==4.17.0", modules={"humanize/*.py": "tests/test_*.py"}),
    Package(release="idna==3.20", modules={"idna/core.py": "tests/test_idna.py"}),
    Package(release="inflection==0.5.1", modules={"inflection/__init__.py": "test_inflection.py"}),
    Package(release="more-itertools==11.2.1", modules={"more_itertools/*.py": "tests/test_*.py"}),
    Package(release="natsort==8.4.0", modules={"natsort/*.py": "tests/test_*.py"}),
    Package(release="parse==1.22.4", modules={"parse/__init__.py": "tests/test_*.py"}),
    Package(
        release="pyrsistent==0.20.0",
        modules={
            "pyrsistent/_pvector.py": "tests/vector_test.py",
            "pyrsistent/_pmap.py": "tests/map_test.py",
            "pyrsistent/_pdeque.py": "tests/deque_test.py",
            "pyrsistent/_precord.py": "tests/record_test.py",
            "pyrsistent/_plist.py": "tests/list_test.py",
        },
    ),
    Package(release="python-slugify==9.2.0", modules={"slugify/slugify.py": "tests/test_*.py"}),
    Package(release="roman==5.2", modules={"roman/__init__.py": "tests.py"}),
    Package(release="semver==3.1.2", modules={"semver/version.py": "tests/test_*.py"}),
    Package(
        release="sqlparse==0.6.1",
        modules={
            "sqlparse/engine/grouping.py": "tests/test_grouping.py",
            "sqlparse/lexer.py": "tests/test_tokenize.py",
            "sqlparse/sql.py": "tests/test_parse.py",
        },
    ),
    Package(release="tabulate==0.10.0", modules={"tabulate/__init__.py": "test/test_*.py"}),
    Package(release="toolz==1.2.0", modules={"toolz/*.py": "toolz/tests/test_*.py"}),
    Package(release="wcwidth==0.9.4", modules={"wcwidth/*.py": "tests/test_*.py"}),
    Package(
        release="webcolors==25.10.0",
        modules={
            "webcolors/_conversion.py": "tests/test_conversion.py",
            "webcolors/_normalization.py": "tests/test_normalization.py",
        },
    ),
)


def read(cache: Path, judge: Judge, jobs: int) -> Found:
    """Return a pair for each module, without the tests that plain Python does not pass here."""
    cache.mkdir(parents=True, exist_ok=True)
    pairs: list[Pair] = []
    missing: dict[str, str] = {}
    for package in PACKAGES:
        try:
            pairs += _pairs(package, _files(cache, package.release))
        except (OSError, subprocess.CalledProcessError) as error:
            missing[package.release] = str(error)
        missing |= {f"{package.release}/{m}": why for m, why in package.left_out.items()}
    found = trim(pairs, judge, jobs)
    return replace(found, missing=missing | dict(found.missing))


def _files(cache: Path, release: str) -> dict[str, bytes]:
    """Return the files of a source distribution, which is fetched once.

    Raises:
        OSError: There is none.
        CalledProcessError: pip cannot fetch it.
    """
    folder = cache / release
    if not folder.exists():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary=:all:"]
        subprocess.run([*command, "-d", str(folder), release], check=True, capture_output=True)
    archive = next(folder.glob("*.tar.gz"), None)
    if archive is None:
        message = f"{release} has no source distribution"
        raise FileNotFoundError(message)
    with tarfile.open(archive) as opened:
        return dict(_members(opened))


def _members(opened: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    for member in opened:
        path = member.name.partition("/")[2].removeprefix("src/")
        wanted = path.endswith(_SUFFIXES) and member.isfile() and member.size <= _LARGEST_BYTES
        if wanted and not any(fnmatch.fnmatch(path, pattern) for pattern in _NOT_WANTED):
            file = opened.extractfile(member)
            assert file is not None
            yield path, file.read()


def _pairs(package: Package, files: Mapping[str, bytes]) -> Iterator[Pair]:
    for modules, tests in package.modules.items():
        test_paths = sorted(path for path in files if fnmatch.fnmatch(path, tests))
        if "*" not in modules:
            yield _pair(package, files, modules, test_paths)
            continue
        for module in sorted(path for path in files if fnmatch.fnmatch(path, modules)):
            name = Path(module).stem
            own = [path for path in test_paths if Path(path).stem.startswith(f"test_{name}")]
            # If a module is named, it has the tests that are named with it.
            if own and module not in {**package.left_out, **package.modules}:
                yield _pair(package, files, module, own)


def _pair(package: Package, files: Mapping[str, bytes], module: str, test_paths: list[str]) -> Pair:
    code = files[module].decode()
    suite = TestSuite(
        tests=PytestTests(
            files=tuple(
                SuiteFile(path=path, content=content)
                for path, content in files.items()
                if path != module
            ),
            test_paths=tuple(test_paths),
            solution_path=module,
        ),
        format="pytest",
    )
    return Pair(id=f"{package.release}/{module}", code=code, suite=suite, reference=code)
