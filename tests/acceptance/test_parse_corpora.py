"""Every row of the recorded data becomes the suite that its format says, or the error."""

import gc
import gzip
import json
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.model import (
    CallTests,
    ExpressionTests,
    PytestTests,
    ScriptTests,
    StdinTests,
    TestSuite,
)
from grader.model.errors import GraderError, LabelError, SuiteError
from grader.suites import ProblemIndex, parse_label, parse_problem

pytestmark = pytest.mark.slow

SUITES: dict[str, dict[str, int]] = {
    "apps_coderl_graded5.jsonl": {"apps stdin": 3, "apps call": 2},
    "bigcodebench_hard.jsonl.gz": {"bigcodebench pytest": 148},
    "bigcodebench_sandboxfusion20.jsonl": {"sandboxfusion pytest": 20},
    "classeval.jsonl.gz": {"classeval pytest": 100},
    "codecontests_sandboxfusion20.jsonl": {"sandboxfusion stdin": 20},
    "exercism_python.jsonl.gz": {"exercism pytest": 140},
    "humaneval.jsonl": {"humaneval script": 164},
    "humanevalpack_python.jsonl.gz": {"humanevalpack script": 164},
    "humanevalplus_mini_v0.1.10.jsonl": {"evalplus call": 163, "evalplus script": 1},
    "humanevalplus_originfmt_first60.jsonl.gz": {"humaneval call": 57, "humaneval script": 3},
    "humanevalplus_v0.1.10.jsonl.gz": {"evalplus call": 163, "evalplus script": 1},
    "kodcode_demo.jsonl.gz": {"kodcode pytest": 232},
    "leetcodedataset_v0.3.1_test.jsonl.gz": {"leetcode script": 228},
    "livecodebench_public_tests.jsonl.gz": {
        "livecodebench stdin": 610,
        "livecodebench call": 444,
        "the suite has no test case": 1,
    },
    "livecodebench_sandboxfusion3.jsonl": {"sandboxfusion stdin": 2, "sandboxfusion call": 1},
    "mbpp.jsonl": {"mbpp script": 974},
    "mbpp_sanitized.jsonl": {"mbpp script": 427},
    "mbppplus_originfmt.jsonl.gz": {"mbppplus call": 365, "mbppplus script": 13},
    "mbppplus_v0.2.0.jsonl.gz": {"evalplus call": 378},
    "quixbugs_python.jsonl": {
        "quixbugs pytest": 40,
        "the row '_support' holds QuixBugs's shared files and not a problem": 1,
    },
    "rec_kodcode_sft_alg_leet.jsonl.gz": {"kodcode pytest": 58},
    # Tests that a model wrote: 77 are no Python, and their recorded result is Fail in each case.
    "rec_kodcode_trials.jsonl.gz": {
        "kodcode pytest": 1568,
        "asserts script": 3,
        "cannot parse the tests as Python": 77,
    },
    "rec_ldb_humaneval_codellama.jsonl.gz": {"humaneval script": 164},
    "rec_ldb_humaneval_starcoder.jsonl.gz": {"humaneval script": 164},
    "rec_ldb_mbpp_codellama.jsonl.gz": {"humaneval script": 500},
    "rec_reflexion_humaneval_gpt4.jsonl.gz": {"humaneval script": 164},
    "rl_label_fixtures.jsonl": {
        "verl stdin": 2,
        "rllm stdin": 3,
        "rllm call": 2,
        "rllm script": 2,
        "rllm pytest": 1,
        "the label is in no known format": 1,  # its label is null
    },
}
"""What becomes of the rows of each Python file: format and kind of tests, or the error."""

OTHER_LANGUAGES = {
    "humanevalpack_cpp.jsonl.gz": (160, 164),
    "humanevalpack_go.jsonl.gz": (161, 164),
    "humanevalpack_java.jsonl.gz": (161, 164),
    "humanevalpack_js.jsonl.gz": (160, 164),
    "humanevalpack_rust.jsonl.gz": (161, 164),
    "polyglot_cpp_go_java_js_rust.jsonl.gz": (32, 60),
}
"""How many rows of each file become suites, of how many. The others are refused by name."""

WITHOUT_TESTS = {
    "rec_humaneval_gpt35_azure.jsonl": "humaneval.jsonl",
    "rec_lcb_qwen3_8b.jsonl.gz": "livecodebench_public_tests.jsonl.gz",
}
"""Files of completions, with the file of problems that their ids name."""

CASES = {
    "humaneval.jsonl": 164,
    "mbpp.jsonl": 974 * 3,
    "livecodebench_public_tests.jsonl.gz": 2762,
}

REDTEAM = {
    "exploits.jsonl": {"function_call": 52, "pytest": 56, "stdin_stdout": 23, "assert": 19},
    "honest.jsonl": {"function_call": 11, "pytest": 8, "stdin_stdout": 10, "assert": 6},
}

KINDS = {
    StdinTests: "stdin",
    CallTests: "call",
    ScriptTests: "script",
    PytestTests: "pytest",
    ExpressionTests: "expressions",
}

Row = dict[str, Any]


def read_rows(path: Path) -> Iterator[Row]:
    data = path.read_bytes()
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines():
        yield json.loads(line)


def outcome(row: Row) -> str:
    try:
        suite = parse_problem(row)
    except GraderError as error:
        return str(error).partition(":")[0].partition(";")[0]
    return f"{suite.format} {KINDS[type(suite.tests)]}"


def case_count(suite: TestSuite) -> int:
    return 0 if isinstance(suite.tests, PytestTests) else len(suite.tests.cases)


@pytest.mark.parametrize("name", SUITES)
def test_rows_of_python_become_suites(shared_dir: Path, name: str) -> None:
    found = Counter(outcome(row) for row in read_rows(shared_dir / "data" / name))
    assert found == SUITES[name]


@pytest.mark.parametrize("name", OTHER_LANGUAGES)
def test_rows_of_other_languages_become_suites_or_are_refused(shared_dir: Path, name: str) -> None:
    found = [outcome(row) for row in read_rows(shared_dir / "data" / name)]
    read, total = OTHER_LANGUAGES[name]
    assert (sum(each.endswith(" expressions") for each in found), len(found)) == (read, total)


@pytest.mark.parametrize("name", WITHOUT_TESTS)
def test_rows_of_completions_name_problems_of_their_file(shared_dir: Path, name: str) -> None:
    data = shared_dir / "data"
    with ProblemIndex.load(data / WITHOUT_TESTS[name]) as problems:
        for row in read_rows(data / name):
            with pytest.raises(LabelError, match="no known format"):
                parse_problem(row)
            assert row.get("task_id", row.get("question_id")) in problems


def test_every_file_of_the_data_is_looked_at(shared_dir: Path) -> None:
    names = {path.name for path in (shared_dir / "data").glob("*.jsonl*")}
    elsewhere = {"rl_nemo_gym_code_examples.jsonl", "rec_kodcode_r1_raw_alg_leet.jsonl.gz"}
    assert names == set(SUITES) | set(OTHER_LANGUAGES) | set(WITHOUT_TESTS) | elsewhere


@pytest.mark.parametrize("name", CASES)
def test_no_case_is_lost(shared_dir: Path, name: str) -> None:
    total = 0
    for row in read_rows(shared_dir / "data" / name):
        try:
            total += case_count(parse_problem(row))
        except SuiteError:
            continue
    assert total == CASES[name]


def test_labels_of_nemo_gym_are_read_or_looked_up(shared_dir: Path) -> None:
    data = shared_dir / "data"
    found: Counter[str] = Counter()
    with ProblemIndex.load(data / "humaneval.jsonl") as problems:
        for wrapped in read_rows(data / "rl_nemo_gym_code_examples.jsonl"):
            source = wrapped["_file"].split("/")[1]
            if "verifier_metadata" not in wrapped["row"]:
                continue
            if source == "code_fim":  # ids of an infilling set that is not here
                with pytest.raises(LabelError, match="which the file of problems lacks"):
                    parse_label(wrapped["row"], problems=problems)
                continue
            suite = parse_label(wrapped["row"], problems=problems)
            found[f"{source} {KINDS[type(suite.tests)]}"] += 1
    assert found == {
        "code_gen stdin": 5,
        "evalplus script": 10,
        "bigcodebench pytest": 5,
    }


def test_metadata_of_raw_kodcode_answers_holds_the_problem(shared_dir: Path) -> None:
    rows = read_rows(shared_dir / "data/rec_kodcode_r1_raw_alg_leet.jsonl.gz")
    assert Counter(outcome(row["metadata"]) for row in rows) == {"kodcode pytest": 60}


@pytest.mark.parametrize("name", REDTEAM)
def test_rows_of_the_red_team_are_read_by_their_style(shared_dir: Path, name: str) -> None:
    kinds = {"function_call": "call", "pytest": "pytest", "stdin_stdout": "stdin"}
    found: Counter[str] = Counter()
    for row in read_rows(shared_dir / "redteam" / name):
        found[row["style"]] += 1
        suite = parse_problem(row)
        assert suite.problem_id == row["id"]
        assert KINDS[type(suite.tests)] == kinds.get(row["style"], "script")
    assert found == REDTEAM[name]


def test_all_files_parse_in_flat_memory(
    shared_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How long it takes is told, not asserted: docs/performance.md has what was measured."""
    paths = sorted((shared_dir / "data").glob("*.jsonl*"))
    taken_s = 0.0
    rows = 0
    peaks_kib: list[int] = []
    for path in paths:
        for row in read_rows(path):
            rows += 1
            start_s = time.process_time()
            outcome(row)
            taken_s += time.process_time() - start_s
        gc.collect()
        peaks_kib.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    growth_mib = (peaks_kib[-1] - peaks_kib[0]) / 1024
    with capsys.disabled():
        print(  # noqa: T201 - this is what the test is run for
            f"\n{rows} rows of {len(paths)} files parsed in {taken_s:.2f} s of CPU time;"
            f" peak memory {peaks_kib[-1] / 1024:.0f} MiB, {growth_mib:.0f} MiB of it later"
        )
    assert growth_mib < 200
