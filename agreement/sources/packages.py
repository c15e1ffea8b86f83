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
        release="anytree==2.13.0",
        modules={
            "anytree/*.py": "tests/test_*.py",
            "anytree/exporter/*.py": "tests/test_*.py",
            "anytree/importer/*.py": "tests/test_*.py",
            "anytree/node/nodemixin.py": "tests/test_node*.py",
            "anytree/iterators/abstractiter.py": "tests/test_iterators.py",
        },
    ),
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
    Package(
        release="construct==2.10.70",
        modules={
            "construct/core.py": "tests/test_core.py",
            "construct/expr.py": "tests/test_expr.py",
        },
    ),
    Package(release="cssselect==1.6.0", modules={"cssselect/parser.py": "tests/test_cssselect.py"}),
    Package(
        release="docstring_parser==0.18.0",
        modules={"docstring_parser/*.py": "docstring_parser/tests/test_*.py"},
    ),
    Package(
        release="dpath==2.2.0",
        modules={
            "dpath/__init__.py": "tests/test_[dgmnpsu]*.py",
            "dpath/segments.py": "tests/test_segments.py",
        },
    ),
    Package(release="first==2.0.2", modules={"first.py": "test_first.py"}),
    Package(release="funcy==2.1", modules={"funcy/*.py": "tests/test_*.py"}),
    Package(release="humanize==4.17.0", modules={"humanize/*.py": "tests/test_*.py"}),
    Package(release="idna==3.20", modules={"idna/core.py": "tests/test_idna.py"}),
    Package(release="inflection==0.5.1", modules={"inflection/__init__.py": "test_inflection.py"}),
    Package(
        release="isodate==0.7.2",
        modules={
            "isodate/duration.py": "tests/test_duration.py",
            "isodate/isodates.py": "tests/test_date.py",
            "isodate/isodatetime.py": "tests/test_datetime.py",
            "isodate/isostrf.py": "tests/test_strf.py",
            "isodate/isotime.py": "tests/test_time.py",
        },
    ),
    Package(
        release="itsdangerous==2.2.0",
        modules={"itsdangerous/*.py": "tests/test_itsdangerous/test_*.py"},
    ),
    Package(release="jsonpointer==3.12", modules={"jsonpointer.py": "tests.py"}),
    Package(
        release="lark==1.3.1",
        modules={
            "lark/lexer.py": "tests/test_lexer.py",
            "lark/load_grammar.py": "tests/test_grammar.py",
            "lark/tree.py": "tests/test_trees.py",
            "lark/tree_templates.py": "tests/test_tree_templates.py",
            "lark/parsers/earley_forest.py": "tests/test_tree_forest_transformer.py",
            "lark/reconstruct.py": "tests/test_reconstructor.py",
        },
    ),
    Package(
        release="markdown==3.11.3",
        modules={
            "markdown/core.py": "tests/test_apis.py",
            "markdown/extensions/*.py": "tests/test_syntax/extensions/test_*.py",
            "markdown/inlinepatterns.py": "tests/test_syntax/inline/test_*.py",
            "markdown/blockprocessors.py": "tests/test_syntax/blocks/test_*.py",
        },
    ),
    Package(
        release="markupsafe==3.0.4",
        modules={
            "markupsafe/__init__.py": "tests/test_markupsafe.py",
            "markupsafe/_native.py": "tests/test_escape.py",
        },
    ),
    Package(
        release="mistune==3.4.0",
        modules={
            "mistune/block_parser.py": "tests/test_misc.py",
            "mistune/plugins/def_list.py": "tests/test_def_list.py",
            "mistune/core.py": "tests/test_hooks.py",
        },
    ),
    Package(release="more-itertools==11.2.1", modules={"more_itertools/*.py": "tests/test_*.py"}),
    Package(
        release="mpmath==1.4.1",
        modules={
            "mpmath/libmp/libmpf.py": "mpmath/tests/test_basic_ops.py",
            "mpmath/libmp/libintmath.py": "mpmath/tests/test_bitwise.py",
            "mpmath/calculus/*.py": "mpmath/tests/test_*.py",
            "mpmath/matrices/*.py": "mpmath/tests/test_*.py",
            "mpmath/identification.py": "mpmath/tests/test_identify.py",
        },
    ),
    Package(release="munch==4.0.0", modules={"munch/__init__.py": "tests/test_munch.py"}),
    Package(release="natsort==8.4.0", modules={"natsort/*.py": "tests/test_*.py"}),
    Package(
        release="networkx==3.6.1",
        modules={
            f"networkx/{folder}/*.py": f"networkx/{folder}/tests/test_*.py"
            for folder in ("algorithms", "classes")
        },
    ),
    Package(release="parse==1.22.4", modules={"parse/__init__.py": "tests/test_*.py"}),
    Package(
        release="pathspec==1.1.1",
        modules={
            "pathspec/util.py": "tests/test_01_util.py",
            "pathspec/patterns/gitignore/base.py": "tests/test_02_*.py",
            "pathspec/patterns/gitignore/basic.py": "tests/test_03_*.py",
            "pathspec/patterns/gitignore/spec.py": "tests/test_04_*.py",
            "pathspec/pathspec.py": "tests/test_05_*.py",
            "pathspec/gitignore.py": "tests/test_06_*.py",
        },
    ),
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
    Package(release="python_dotenv==1.2.4", modules={"dotenv/*.py": "tests/test_*.py"}),
    Package(release="roman==5.2", modules={"roman/__init__.py": "tests.py"}),
    Package(release="schema==0.7.8", modules={"schema/__init__.py": "test_schema.py"}),
    Package(release="semver==3.1.2", modules={"semver/version.py": "tests/test_*.py"}),
    Package(
        release="simpy==4.1.2",
        modules={
            "simpy/core.py": "tests/test_[ept]*.py",
            "simpy/events.py": "tests/test_[cei]*.py",
            "simpy/resources/base.py": "tests/test_resources.py",
            "simpy/rt.py": "tests/test_rt.py",
            "simpy/util.py": "tests/test_util.py",
        },
    ),
    Package(
        release="sqlparse==0.6.1",
        modules={
            "sqlparse/engine/grouping.py": "tests/test_grouping.py",
            "sqlparse/lexer.py": "tests/test_tokenize.py",
            "sqlparse/sql.py": "tests/test_parse.py",
        },
    ),
    Package(release="tabulate==0.10.0", modules={"tabulate/__init__.py": "test/test_*.py"}),
    Package(
        release="textdistance==4.6.3",
        modules={"textdistance/algorithms/base.py": "tests/test_common.py"},
    ),
    Package(release="toolz==1.2.0", modules={"toolz/*.py": "toolz/tests/test_*.py"}),
    Package(
        release="uncertainties==3.2.3",
        modules={
            "uncertainties/core.py": "tests/test_uncertainties.py",
            "uncertainties/formatting.py": "tests/test_formatting.py",
            "uncertainties/ops.py": "tests/test_power.py",
            "uncertainties/umath_core.py": "tests/test_umath.py",
        },
    ),
    Package(
        release="voluptuous==0.16.0",
        modules={
            "voluptuous/schema_builder.py": "voluptuous/tests/tests.py",
            "voluptuous/validators.py": "voluptuous/tests/tests.py",
        },
    ),
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
        # Here `*` does not stand for folders: a folder has tests of its own.
        for module in sorted(path for path in files if Path(path).match(modules)):
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
