"""Recorded model outputs with verdicts of other harnesses, through the whole grader.

Completions are extracted as for anybody, tests are read from the rows; limits and imports are
those that each record was made with. If we differ, the rows are named here and the reason in
docs/known-disagreements.md, and nothing else may differ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from grader.grading.grader import Grader
from grader.model import GradeReport, LimitOverrides, Submission, TestSuite
from grader.model.errors import LabelError, SuiteError
from grader.model.overrides import ExtractionRule
from grader.model.verdict import Verdict
from grader.suites import ProblemIndex, override, parse_label, parse_problem
from tests.acceptance.data import Row, grade_all, read_problems, read_rows, sample

pytestmark = pytest.mark.slow


def passed(reports: Mapping[str, GradeReport]) -> set[str]:
    return {id for id, report in reports.items() if report.verdict is Verdict.PASSED}


def differing(reports: Mapping[str, GradeReport], recorded: set[str]) -> set[str]:
    """Return what passed here or on record, but not on both."""
    return passed(reports) ^ (recorded & set(reports))


# ---------------------------------------------------------------- HumanEval and MBPP


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """A file of whole programs, each with its tests and whether it passed them."""

    file: str
    passed: int
    prelude: str = ""
    """What the original harness puts before a program."""
    broken: frozenset[str] = frozenset()
    """Problems that their own reference does not pass; nothing passes them on record either."""


PROGRAMS = (
    Programs(file="rec_ldb_humaneval_codellama.jsonl.gz", passed=81),
    Programs(file="rec_ldb_humaneval_starcoder.jsonl.gz", passed=64, prelude="import math"),
    Programs(file="rec_reflexion_humaneval_gpt4.jsonl.gz", passed=141, prelude="import math"),
    Programs(
        file="rec_ldb_mbpp_codellama.jsonl.gz",
        passed=256,
        broken=frozenset({"MBPP/56", "MBPP/349"}),
    ),
)

NEED_MATH = {
    "rec_ldb_humaneval_starcoder.jsonl.gz": {"HumanEval/106", "HumanEval/133"},
    "rec_reflexion_humaneval_gpt4.jsonl.gz": {"HumanEval/133"},
}
"""What passes only with `import math` before the program."""


@pytest.mark.parametrize("programs", [pytest.param(each, id=each.file) for each in PROGRAMS])
def test_programs_pass_as_recorded(
    native_grader: Grader, data_dir: Path, programs: Programs
) -> None:
    rows = list(read_rows(data_dir / programs.file))
    recorded = {row["task_id"] for row in rows if row["is_solved"]}
    assert len(recorded) == programs.passed
    reports = grade_all(native_grader, (program_of(row, programs.prelude) for row in rows))
    assert differing(reports, recorded) == set()
    assert {id for id, report in reports.items() if not report.graded} == programs.broken


@pytest.mark.parametrize("file", NEED_MATH)
def test_programs_that_lean_on_an_import_fail_without_it(
    native_grader: Grader, data_dir: Path, file: str
) -> None:
    rows = [row for row in read_rows(data_dir / file) if row["task_id"] in NEED_MATH[file]]
    assert all(row["is_solved"] for row in rows)
    reports = grade_all(native_grader, (program_of(row) for row in rows))
    assert {id for id, report in reports.items() if "'math'" in report.feedback} == NEED_MATH[file]
    assert passed(reports) == set()


def program_of(row: Row, prelude: str = "") -> Submission:
    """Return the recorded program of a row with the tests of the row."""
    suite = override(parse_problem(row), {"prelude": prelude})
    return Submission(id=row["task_id"], completion=row["solution"], suite=suite)


def test_continuations_of_gpt35_pass_as_recorded(native_grader: Grader, data_dir: Path) -> None:
    rows = list(read_rows(data_dir / "rec_humaneval_gpt35_azure.jsonl"))
    suites = {each.id: each.suite for each in read_problems(data_dir / "humaneval.jsonl")}
    recorded = {row["task_id"] for row in rows if row["passed"]}
    assert len(recorded) == 122
    submissions = [
        Submission(id=row["task_id"], completion=row["completion"], suite=suites[row["task_id"]])
        for row in rows
    ]
    assert differing(grade_all(native_grader, submissions), recorded) == set()


# ---------------------------------------------------------------- KodCode

R1_RUN = "SFT_KodCode_prefill_200_1741214325/"

YIELDS = {
    *(f"{R1_RUN}Prefill_00000003_{style}/trial_r1_{n}" for style in "CI" for n in range(3)),
    "KodCode_prefill_200_1741214325/00000003/trial_qwen2.5_2",
}
"""Their tests are generators, which pytest ran as empty tests then and refuses now."""


def test_trials_of_kodcode_pass_as_recorded(native_grader: Grader, data_dir: Path) -> None:
    """Of 500 sampled trials, which 77 in 1648 cannot be graded: their tests are no Python."""
    rows = list(read_rows(data_dir / "rec_kodcode_trials.jsonl.gz"))
    recorded = {trial_id(row) for row in rows if row["result"].startswith("Pass")}
    assert len(recorded) == 713
    chosen = sample(rows, 500)
    reports = grade_all(native_grader, trials(chosen, recorded))
    assert differing(reports, recorded) == YIELDS & {trial_id(row) for row in chosen}
    assert all(report.graded for report in reports.values())


def trials(rows: list[Row], recorded: set[str]) -> Iterator[Submission]:
    for row in rows:
        try:
            suite = parse_problem(row)
        except SuiteError:
            assert trial_id(row) not in recorded
            continue
        # The row's solution is what is graded, so it cannot be the reference.
        suite = replace(
            suite,
            reference=None,
            extraction=ExtractionRule.VERBATIM,
            limits=LimitOverrides(cpu_time_s=3.0),
        )
        yield Submission(id=trial_id(row), completion=row["solution"], suite=suite)


def trial_id(row: Row) -> str:
    return f"{row['run']}/{row['task']}/{row['trial']}"


RENAMED = {f"Leetcode_000000{number}_I" for number in (22, 56, 65, 96)}
"""KodCode gave the answer's function the name that its tests want."""


def test_answers_of_r1_pass_as_recorded(native_grader: Grader, data_dir: Path) -> None:
    rows = list(read_rows(data_dir / "rec_kodcode_sft_alg_leet.jsonl.gz"))
    recorded = {row["question_id"] for row in rows if row["r1_correctness"] == "True"}
    assert (len(rows), len(recorded)) == (58, 44)
    suites = {row["question_id"]: parse_problem(row) for row in rows}
    as_code = [
        Submission(
            id=row["question_id"],
            completion=row["r1_solution"],
            suite=replace(suites[row["question_id"]], extraction=ExtractionRule.VERBATIM),
        )
        for row in rows
    ]
    as_text = [
        Submission(
            id=row["question_id"],
            completion=row["conversations"][-1]["value"],
            suite=suites[row["question_id"]],
        )
        for row in rows
    ]
    assert differing(grade_all(native_grader, as_code), recorded) == set()
    assert differing(grade_all(native_grader, as_text), recorded) == RENAMED


# ---------------------------------------------------------------- LiveCodeBench


def test_outputs_that_passed_all_of_livecodebench_pass_its_public_tests(
    native_grader: Grader, data_dir: Path
) -> None:
    """The record has all tests, and only the public ones are here: they are what can be said."""
    right = [
        row for row in read_rows(data_dir / "rec_lcb_qwen3_8b.jsonl.gz") if row["graded_list"][0]
    ]
    assert len(right) == 305
    with ProblemIndex.load(data_dir / "livecodebench_public_tests.jsonl.gz") as problems:
        submissions = [
            Submission(
                id=row["question_id"],
                completion=row["output_list"][0],
                suite=parse_label({"problem": row["question_id"]}, problems=problems),
            )
            for row in right
        ]
    reports = grade_all(native_grader, submissions)
    assert differing(reports, {row["question_id"] for row in right}) == set()


# ---------------------------------------------------------------- APPS


def test_generations_for_apps_pass_as_recorded(stopping_grader: Grader, data_dir: Path) -> None:
    """Under the 4 s a case that APPS gives."""
    submissions = []
    recorded = set()
    for problem in read_problems(data_dir / "apps_coderl_graded5.jsonl"):
        suite = replace(problem.suite, limits=LimitOverrides(cpu_time_s=4.0, wall_time_s=8.0))
        for number, generation in enumerate(problem.row["gen_solutions"]):
            id = f"{problem.id}/{number}"
            submissions.append(Submission(id=id, completion=generation["code"], suite=suite))
            if generation["result"] is True:
                recorded.add(id)
    reports = grade_all(stopping_grader, submissions)
    assert (len(reports), len(recorded)) == (83, 35)
    assert differing(reports, recorded) == set()


# ---------------------------------------------------------------- training frameworks


def test_fixtures_of_verl_get_its_scores(native_grader: Grader, data_dir: Path) -> None:
    rows = [
        row for row in read_rows(data_dir / "rl_label_fixtures.jsonl") if "expected_score" in row
    ]
    reports = [
        native_grader.grade(
            Submission(id=str(number), completion=row["solution_str"], suite=parse_problem(row))
        )
        for number, row in enumerate(rows)
    ]
    assert [row["expected_score"] for row in rows] == [1.0, 0.9]
    assert [verl_score(report) for report in reports] == [1.0, 0.9]
    assert [(report.passed, report.total) for report in reports] == [(11, 11), (10, 11)]


def verl_score(report: GradeReport) -> float:
    """Return what verl makes of the cases: all, else the share of the first ten."""
    if report.verdict is Verdict.PASSED:
        return 1.0
    first = report.cases[:10]
    return sum(case.verdict is Verdict.PASSED for case in first) / len(first)


FENCE_WANTED = {"test_reward_leetcode_format_error"}
"""rLLM wants a fence; plain code under a line of words is code here."""


def test_fixtures_of_rllm_are_right_where_it_says_so(native_grader: Grader, data_dir: Path) -> None:
    rows = {
        row["source"].rpartition("::")[2]: row
        for row in read_rows(data_dir / "rl_label_fixtures.jsonl")
        if row["framework"] == "rllm"
    }
    unlabelled = {name for name, row in rows.items() if row["ground_truth"] is None}
    assert unlabelled == {"test_reward_livecodebench"}
    with pytest.raises(LabelError):
        parse_problem(rows[unlabelled.pop()])
    rows = {name: row for name, row in rows.items() if row["ground_truth"] is not None}
    recorded = {
        name for name, row in rows.items() if row["asserts"][0] == "assert output.is_correct"
    }
    assert (len(rows), len(recorded)) == (8, 7)
    submissions = [
        Submission(id=name, completion=row["model_response"], suite=parse_problem(row))
        for name, row in rows.items()
    ]
    assert differing(grade_all(native_grader, submissions), recorded) == FENCE_WANTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollouts:
    """What one of NeMo-Gym's servers rewarded."""

    server: str
    problems: str | None = None
    """The file that its labels name problems of."""
    rewarded: int
    differing: frozenset[str] = frozenset()
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Rollouts that need a module which the science image does not have."""


ROLLOUTS = (
    Rollouts(server="code_gen", rewarded=1, differing=frozenset({"code_gen/2", "code_gen/4"})),
    Rollouts(server="evalplus", problems="humanevalplus_v0.1.10.jsonl.gz", rewarded=5),
    Rollouts(
        server="bigcodebench",
        rewarded=3,
        lacking={"bigcodebench/1": "wordcloud", "bigcodebench/3": "seaborn"},
    ),
)
"""Of `code_fim` the problems are not here."""


@pytest.mark.parametrize("rollouts", [pytest.param(each, id=each.server) for each in ROLLOUTS])
def test_rollouts_of_nemo_gym_pass_where_they_were_rewarded(
    native_grader: Grader, data_dir: Path, rollouts: Rollouts
) -> None:
    rows = [
        row["row"]
        for row in read_rows(data_dir / "rl_nemo_gym_code_examples.jsonl")
        if f"/{rollouts.server}/" in row["_file"]
    ]
    labels = {
        question_of(row): suite_of(row, rollouts, data_dir) for row in rows if "response" not in row
    }
    answered = [row for row in rows if "response" in row]
    submissions = [
        Submission(
            id=f"{rollouts.server}/{number}",
            completion=answer_of(row),
            suite=labels[question_of(row)],
        )
        for number, row in enumerate(answered)
    ]
    recorded = {each.id for each, row in zip(submissions, answered, strict=True) if row["reward"]}
    assert (len(answered), len(recorded)) == (5, rollouts.rewarded)
    reports = grade_all(native_grader, submissions)
    for id, module in rollouts.lacking.items():
        assert f"No module named '{module}'" in reports.pop(id).feedback
    assert differing(reports, recorded) == rollouts.differing


def question_of(row: Row) -> str:
    return str(row["responses_create_params"]["input"][-1]["content"])


def suite_of(row: Row, rollouts: Rollouts, data_dir: Path) -> TestSuite:
    if rollouts.problems is None:
        return parse_label(row)
    with ProblemIndex.load(data_dir / rollouts.problems) as problems:
        return parse_label(row, problems=problems)


def answer_of(row: Row) -> str:
    """Return what the model said, without what it thought."""
    return "".join(
        part["text"]
        for item in row["response"]["output"]
        if item["type"] == "message"
        for part in item["content"]
    )
