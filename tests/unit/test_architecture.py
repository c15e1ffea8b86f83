"""The shape that import-linter cannot hold: what importing costs, and what the harness needs."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

HARNESS = Path("sandbox_images/harness")

LISTED = re.compile(r"^ *([a-z_]+(?:, [a-z_]+)*)/? {2,}\S", re.MULTILINE)
"""A row of the list of modules or public names in a package's docstring."""

HEAVY = ("celery", "docker", "numpy", "pyarrow", "redis", "requests", "torch", "uvicorn")


def statements(tree: ast.AST, in_function: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Yield all statements below a node, and whether each is in a function."""
    in_function = in_function or isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child, in_function
            yield from statements(child, in_function)


@cache
def imports(path: Path) -> tuple[tuple[str, bool], ...]:
    """Return what a file imports, and whether that is in a function."""
    return tuple(
        (f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name, lazy)
        for node, lazy in statements(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def imported_roots(path: Path) -> set[str]:
    return {name.partition(".")[0] for name, _ in imports(path)}


def test_harness_imports_only_the_standard_library_pytest_and_itself(repo_dir: Path) -> None:
    allowed = sys.stdlib_module_names | {"sandbox_images", "pytest", "_pytest"}
    foreign = {
        f"{path.name}: {root}"
        for path in (repo_dir / HARNESS).rglob("*.py")
        for root in imported_roots(path)
        if root not in allowed
    }
    assert foreign == set()


@pytest.mark.parametrize("module", ["frames", "values"])
def test_wire_modules_of_the_harness_import_only_the_standard_library(
    repo_dir: Path, module: str
) -> None:
    roots = imported_roots(repo_dir / HARNESS / "wire" / f"{module}.py")
    assert roots <= sys.stdlib_module_names


@pytest.mark.parametrize("module", ["grader", "grader.cli", "grader.grading.grader"])
def test_import_loads_no_optional_dependency(module: str) -> None:
    program = f"import sys, {module}; print(*sorted(sys.modules))"
    listing = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = set(listing.stdout.split())
    assert module in loaded
    assert loaded.isdisjoint(HEAVY)


def test_modules_that_packages_list_in_their_docstrings_exist(repo_dir: Path) -> None:
    unknown = []
    listed = 0
    for folder in ("grader", "sandbox_images", "worker"):
        for path in (repo_dir / folder).rglob("__init__.py"):
            tree = ast.parse(path.read_text())
            known = {each.stem for each in path.parent.iterdir()}
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom):
                    known |= {alias.name for alias in node.names}
            rows = LISTED.findall(ast.get_docstring(tree) or "")
            names = [name for row in rows for name in row.split(", ")]
            listed += len(names)
            unknown += [f"{path}: {name}" for name in names if name not in known]
    assert unknown == []
    assert listed > 20


def test_no_two_public_classes_share_a_name(repo_dir: Path) -> None:
    places: dict[str, list[str]] = {}
    for folder in ("grader", "sandbox_images", "worker"):
        for path in (repo_dir / folder).rglob("*.py"):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(str(path.relative_to(repo_dir)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
    assert len(places) > 400


def sources(repo_dir: Path) -> dict[str, Path]:
    """Return the files of all production modules by module."""
    found = {}
    for folder in ("grader", "sandbox_images", "worker"):
        for path in (repo_dir / folder).rglob("*.py"):
            name = path.relative_to(repo_dir).with_suffix("").as_posix().replace("/", ".")
            found[name.removesuffix(".__init__")] = path
    return found


def imported_modules(
    path: Path, modules: Mapping[str, Path], *, lazily: bool | None = None
) -> set[str]:
    """Return the production modules that a file imports; `lazily`, only in functions or not."""
    return {
        found
        for name, lazy in imports(path)
        if lazily is None or lazy is lazily
        for found in [name if name in modules else name.rpartition(".")[0]]
        if found in modules
    }


def test_imports_between_modules_form_no_circle(repo_dir: Path) -> None:
    modules = sources(repo_dir)
    graph = {name: imported_modules(path, modules) - {name} for name, path in modules.items()}
    assert sum(map(len, graph.values())) > 1000
    order = TopologicalSorter(graph)
    order.prepare()  # raises CycleError, which names the circle


def test_short_module_with_one_importer_is_part_of_it(repo_dir: Path) -> None:
    """Not if it is imported in a function, as when it needs a package that may be missing."""
    modules = sources(repo_dir)
    importers: dict[str, set[str]] = {name: set() for name in modules}
    for name, path in modules.items():
        lazy = imported_modules(path, modules, lazily=True)
        for each in imported_modules(path, modules, lazily=False) - lazy:
            importers[each].add(name)
    short = [
        name
        for name, path in modules.items()
        if len(importers[name]) == 1
        and path.name != "__init__.py"
        and len(path.read_text().splitlines()) < 30
    ]
    assert short == []


def test_decision_on_floors_names_those_that_import_linter_has(repo_dir: Path) -> None:
    settings = tomllib.loads((repo_dir / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    page = (repo_dir / "docs/adr/0030-floors.md").read_text()
    floors = {
        floor
        for contract in contracts
        if contract["type"] == "layers" and contract["containers"] != ["worker"]
        for layer in contract["layers"]
        for floor in re.findall(r"\w+", layer)
        if not floor.startswith(("reward_", "agent_", "__"))
    }
    assert len(floors) > 20
    assert sorted(floor for floor in floors if f"`{floor}`" not in page) == []
