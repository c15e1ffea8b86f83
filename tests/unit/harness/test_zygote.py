"""What zygotes prepare for the runs that they fork."""

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_images.harness.lock_in.confinement import find_program

_REPO = Path(__file__).resolve().parents[3]


def test_zygote_of_programs_starts_without_the_modules_that_only_tests_need() -> None:
    code = (
        "import sys; from sandbox_images.harness import runners; "
        "from sandbox_images.harness.slot import zygote; "
        "print(sorted({'asyncio', 'ssl', 'subprocess', 'unittest'} & set(sys.modules)))"
    )
    # Without `site`, as zygotes are started.
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=_REPO, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        pytest.param("both", "first/both", id="first-folder-wins"),
        pytest.param("second", "second/second", id="second-folder"),
        pytest.param("text", "second/text", id="only-what-can-be-executed"),
    ],
)
def test_program_is_found_as_a_shell_finds_it(tmp_path: Path, name: str, found: str) -> None:
    for path, mode in (
        ("first/both", 0o755),
        ("second/both", 0o755),
        ("second/second", 0o755),
        ("first/text", 0o644),
        ("second/text", 0o755),
    ):
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.touch(mode=mode)
    assert find_program(name, f"{tmp_path}/first:{tmp_path}/second") == f"{tmp_path}/{found}"


@pytest.mark.parametrize("name", ["./program", "none-of-this-name"])
def test_program_without_a_file_in_the_folders_keeps_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "program").touch(mode=0o755)
    assert find_program(name, str(tmp_path)) == name
