"""Packages that a user adds to an image: what is understood, and which versions are fetched."""

import zipfile
from pathlib import Path

import pytest

from grader.model.errors import ConfigurationError, SandboxError
from grader.sandbox.packages import install_further, parse_packages


@pytest.mark.parametrize(
    ("packages", "arguments"),
    [
        pytest.param("matplotlib  bs4", ["matplotlib", "bs4"], id="names"),
        pytest.param("polars>=1,<2 uvicorn[standard]==0.34.*", None, id="versions"),
    ],
)
def test_packages_are_named_with_blanks_between(packages: str, arguments: list[str] | None) -> None:
    assert parse_packages(packages) == (arguments or packages.split())


def test_requirements_file_is_handed_on(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("bs4\n")
    assert parse_packages(str(file)) == [f"--requirement={file}"]


@pytest.mark.parametrize(
    ("packages", "found"),
    [
        pytest.param("", "found nothing", id="nothing"),
        pytest.param("bs4 --index-url=x", "found '--index-url=x'", id="option"),
        pytest.param("x@https://example.org/x.whl", "found 'x@https", id="address"),
        pytest.param("./requirements.txt", "found './requirements.txt'", id="missing file"),
        pytest.param("requirements.txt", "found 'requirements.txt'", id="missing file here"),
    ],
)
def test_what_is_no_package_is_refused(packages: str, found: str) -> None:
    with pytest.raises(ConfigurationError, match="or a requirements file; " + found):
        parse_packages(packages)


def write_wheel(folder: Path, name: str, version: str, needs: str = "") -> None:
    info = f"{name}-{version}.dist-info"
    requires = f"Requires-Dist: {needs}\n" if needs else ""
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", f"version = {version!r}\n")
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_further_packages_come_with_their_needs_and_leave_locked_ones_alone(
    tmp_path: Path,
) -> None:
    wheels, packages, lock = tmp_path / "wheels", tmp_path / "packages", tmp_path / "a.lock"
    wheels.mkdir()
    lock.write_text("# Written by a test.\nlocked==1.0 \\\n    --hash=sha256:00\n")
    write_wheel(wheels, "further", "1.0", needs="locked")
    write_wheel(wheels, "greedy", "1.0", needs="locked>=2")
    for version in ("1.0", "2.0"):
        write_wheel(wheels, "locked", version)
    install_further(packages, ["further"], locks=[lock], machine="x86_64", wheels=wheels)
    assert (packages / "further.py").exists()
    assert (packages / "locked.py").read_text() == "version = '1.0'\n"
    with pytest.raises(SandboxError, match="pip could not fetch greedy"):
        install_further(packages, ["greedy"], locks=[lock], machine="x86_64", wheels=wheels)
