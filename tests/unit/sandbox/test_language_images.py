"""Which image a language's submissions run in."""

from dataclasses import replace

import pytest

from grader import languages
from grader.config.settings import ImageSettings, Settings
from grader.model.errors import ImageNotFoundError
from grader.sandbox.images import all_variants, image_name


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
