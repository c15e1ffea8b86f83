"""What a compiler made of a program runs again only for an equal program."""

from dataclasses import replace

import pytest

from grader import parse_label
from grader.languages import find
from grader.model import Limits, SuiteFile
from grader.running.programs import find_uncompiled, recall_product, stdin_batch
from grader.running.references import References
from grader.running.task import Task
from grader.sandbox.contract import COMPILING, Commands, RunOutcome

TASK = Task(
    suite=parse_label({"inputs": [""], "outputs": ["1"], "language": "c"}),
    code="int main(void) {}",
    limits=Limits(),
    stop_early=False,
    require=None,
    language=find("c"),
)


def recalled(task: Task, references: References, **changes: object) -> Commands:
    batch = replace(stdin_batch(task, (b"",)), **changes)  # type: ignore[arg-type]
    batch = recall_product(task, batch, references)
    assert batch.commands is not None
    product = b"made" if batch.commands.keeps_product else b""
    compiled = RunOutcome(index=COMPILING, exit_code=0, product=product)
    assert find_uncompiled(task, batch, iter([compiled]), references) is None
    return batch.commands


@pytest.fixture
def references() -> References:
    references = References()
    assert not recalled(TASK, references).keeps_product
    assert recalled(TASK, references).keeps_product
    assert recalled(TASK, references).product == b"made"
    return references


def test_a_program_for_another_image_is_compiled_there(references: References) -> None:
    other = replace(TASK, suite=replace(TASK.suite, image="other"))
    assert recalled(other, references).product is None


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "int main(void) { }"},
        {"source_path": "other.c"},
        {"files": (SuiteFile(path="other.h", content=b""),)},
    ],
)
def test_another_program_is_compiled(references: References, changes: dict[str, object]) -> None:
    assert recalled(TASK, references, **changes).product is None
