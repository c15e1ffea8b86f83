"""Which image a language's submissions run in."""

import io
import re
import tarfile
from dataclasses import replace

import pytest

from grader import languages
from grader.config.settings import ImageSettings, Settings
from grader.model.errors import ImageNotFoundError
from grader.sandbox.images import all_variants, debian_packages, image_name, write_context
from sandbox_images import lock
from tests.conftest import REPO


@pytest.mark.parametrize(
    ("plain", "name"),
    [
        pytest.param("grader-sandbox:python", "grader-sandbox:cpp", id="default"),
        pytest.param("mine:plain", "mine:cpp", id="another name"),
        pytest.param("mine", "mine:cpp", id="no tag"),
        pytest.param("host:5000/mine", "host:5000/mine:cpp", id="registry with a port"),
        pytest.param("host:5000/mine:1", "host:5000/mine:cpp", id="both"),
    ],
)
def test_image_of_a_language_stands_beside_the_plain_one(plain: str, name: str) -> None:
    settings = replace(Settings(), images=ImageSettings(python=plain))
    assert image_name("cpp", settings) == name


def test_images_of_python_are_those_of_the_settings() -> None:
    assert image_name("science", Settings()) == ImageSettings().science


def test_every_language_has_an_image() -> None:
    assert {language.image for language in languages.languages().values()} < set(all_variants())


def test_unknown_variant_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ImageNotFoundError, match="'cobol'; expected one of python, science, bash"):
        image_name("cobol", Settings())


def context(variant: str) -> tarfile.TarFile:
    made = io.BytesIO()
    write_context(made, variant, "x86_64", progress=lambda _line: None)
    made.seek(0)
    return tarfile.open(fileobj=made)


def text(archive: tarfile.TarFile, path: str) -> str:
    file = archive.extractfile(path)
    assert file is not None
    return file.read().decode()


def test_image_is_made_with_what_its_compilers_find_beforehand() -> None:
    with context("cpp") as archive:
        made = [line for line in text(archive, "Dockerfile").splitlines() if "c++-header" in line]
        assert len(made) == 2  # C++17 and C++20
        assert all(line.startswith('RUN ["g++", ') for line in made)
        assert '"-o", "/opt/prebuilt/bits/stdc++.h.gch/gnu++17"]' in made[0]
        assert text(archive, "prebuilt/bits/stdc++.h") == "#include_next <bits/stdc++.h>\n"
        assert archive.getmember("prebuilt/bits/stdc++.h.gch").isdir()


def test_image_of_a_language_with_nothing_to_make_has_the_recipe_as_it_is() -> None:
    with context("lua") as archive:
        assert "COPY" not in text(archive, "Dockerfile")
        assert "prebuilt" not in archive.getnames()


@pytest.mark.parametrize(
    ("variant", "packages"),
    [
        pytest.param("cpp", ["g++"], id="all from Debian, once"),
        pytest.param("javascript", [], id="all from wheels"),
        pytest.param("typescript", ["esbuild"], id="both"),
        pytest.param("perl+typescript", ["perl", "esbuild"], id="joined"),
    ],
)
def test_image_has_packages_of_debian_for_what_no_wheel_brings(
    variant: str, packages: list[str]
) -> None:
    assert debian_packages(languages.in_image(variant)) == packages


def test_programs_of_wheels_are_pinned_for_both_architectures() -> None:
    locked = (REPO / "sandbox_images/language/requirements.lock").read_text()
    pins = re.findall(r"^[\w-]+==[\w.]+(.*(?:\n    .*)*)", locked, re.MULTILINE)
    assert [each.count("--hash=sha256:") for each in pins] == [len(lock.MACHINES)]
