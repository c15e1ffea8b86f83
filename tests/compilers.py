"""The compilers and interpreters that tests in other languages need."""

from grader import languages
from grader.grading.grader import Grader
from grader.model.errors import GraderError
from grader.sandbox.docker.backend import DockerSandbox
from tests.conftest import missing


def need(*names: str) -> None:
    """Skip the test if this machine lacks a language; fail it in CI."""
    for name in names:
        if lacking := languages.missing([languages.languages()[name]]):
            missing(name, f"there is no {', '.join(lacking)}")


def need_in(grader: Grader, *names: str) -> None:
    """Like `need`, but of the sandbox of a grader."""
    if not isinstance(grader.sandbox, DockerSandbox):
        need(*names)
        return
    for name in names:
        try:
            grader.sandbox.check(languages.languages()[name].image)
        except GraderError as error:
            missing(name, str(error))
