"""Rows of training frameworks: a label of another format in columns of their own.

verl (`reward_model.ground_truth`), SkyRL (`reward_spec.ground_truth`), rLLM (`ground_truth`),
NeMo-Gym (`verifier_metadata`: `unit_tests`, a BigCodeBench row, or the id of a problem), and a
row with a `label`. Also the short label: an object that only names a problem, by `problem` or by an
id field, to be looked up in the caller's file of problems.

The inner label is read by its own format, which decides everything. The suite gets the name of the
envelope's format, and the prompt and the problem's id if the envelope has them. verl and NeMo-Gym
compare as APPS does, here tokens and numbers are compared; see `stdio`.
"""

from collections.abc import Callable, Mapping

from grader.model.errors import LabelError
from grader.suites import fields
from grader.suites.format import Envelope, Format, Row, field_sets, present

_ID_FIELDS = ("problem", "task_id", "problem_id", "question_id")


def _prompt(row: Row) -> str:
    """Return the prompt's text, or the text of its last message."""
    prompt = row.get("prompt") or row.get("question") or row.get("problem")
    if isinstance(prompt, str):
        return fields.clean(prompt)
    if fields.is_list(prompt) and prompt and isinstance(prompt[-1], Mapping):
        return fields.any_text(prompt[-1], "content")
    return ""


def _ground_truth(column: str) -> Callable[[Row], Envelope]:
    def read(row: Row) -> Envelope:
        inner = fields.mapping(row, column).get("ground_truth")
        return Envelope(label=inner, prompt=_prompt(row), problem_id=_id(row))

    return read


def _id(row: Row) -> str | None:
    extra = row.get("extra_info")
    inner = fields.identifier(extra, "id", "index") if isinstance(extra, Mapping) else None
    return fields.identifier(row, "task_id", "id", "uid") or inner


def read_rllm(row: Row) -> Envelope:
    """Return the label of an rLLM row."""
    return Envelope(label=row["ground_truth"], prompt=_prompt(row), problem_id=_id(row))


def read_label(row: Row) -> Envelope:
    """Return the label of a row with a column `label`."""
    return Envelope(label=row["label"], prompt=_prompt(row), problem_id=_id(row))


def read_nemo_gym(row: Row) -> Envelope:
    """Return the label of a NeMo-Gym row."""
    metadata = fields.mapping(row, "verifier_metadata")
    label = metadata.get("unit_tests", metadata)
    problem_id = fields.identifier(metadata, "task_id") or fields.identifier(row, "hash_id")
    return Envelope(label=label, problem_id=problem_id, prompt=_nemo_prompt(row))


def _nemo_prompt(row: Row) -> str:
    given = row.get("responses_create_params")
    messages = given.get("input") if isinstance(given, Mapping) else None
    return _prompt({"prompt": messages})


def read_problem(row: Row) -> Envelope:
    """Return the problem that a short label names."""
    name = fields.identifier(row, *_ID_FIELDS)
    if name is None:
        message = "a label that names a problem must hold its id as text or a whole number"
        raise LabelError(message)
    return Envelope(problem=name)


def _only_names(row: Row) -> bool:
    return len(present(row)) == 1


_CASES = {"inputs": ["2\n"], "outputs": ["4\n"]}

VERL = Format(
    name="verl",
    summary="verl and PRIME rows: a label in reward_model.ground_truth",
    fields=field_sets("reward_model"),
    example={"data_source": "code", "reward_model": {"style": "rule", "ground_truth": _CASES}},
    read=_ground_truth("reward_model"),
)

SKYRL = Format(
    name="skyrl",
    summary="SkyRL rows: a label as JSON text in reward_spec.ground_truth",
    fields=field_sets("reward_spec"),
    example={
        "reward_spec": {
            "method": "rule",
            "ground_truth": '{"inputs": ["2\\n"], "outputs": ["4\\n"]}',
        }
    },
    read=_ground_truth("reward_spec"),
)

RLLM = Format(
    name="rllm",
    summary="rLLM rows: a label of any kind in ground_truth",
    fields=field_sets("ground_truth"),
    example={
        "problem": "Print twice the number.",
        "ground_truth": [{"input": "2\n", "output": "4\n"}],
    },
    read=read_rllm,
)

LABEL = Format(
    name="label",
    summary="A row with its label in the column label",
    fields=field_sets("label"),
    example={"id": "p0", "label": "assert double(2) == 4"},
    read=read_label,
)

NEMO_GYM = Format(
    name="nemo_gym",
    summary="NeMo-Gym rows: unit tests, a BigCodeBench row or a problem's id in verifier_metadata",
    fields=field_sets("verifier_metadata"),
    example={"hash_id": "h0", "verifier_metadata": {"unit_tests": _CASES}},
    read=read_nemo_gym,
)

PROBLEM = Format(
    name="problem",
    summary="A short label that names a problem of --problems or GRADER_PROBLEMS",
    fields=tuple(frozenset({name}) for name in _ID_FIELDS),
    example={"problem": "HumanEval/0"},
    read=read_problem,
    accepts=_only_names,
)
