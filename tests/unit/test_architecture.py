"""The shape that import-linter cannot hold: what importing costs, and what the harness needs."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HARNESS = Path("sandbox_images/harness")

HEAVY = ("celery", "docker", "numpy", "pyarrow", "redis", "requests", "torch", "uvicorn")


def imported_roots(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


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
    roots = set(imported_roots(repo_dir / HARNESS / "wire" / f"{module}.py"))
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
