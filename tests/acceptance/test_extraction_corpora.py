"""Extraction over recorded model outputs: the figures of ../shared/data/README.md and more."""

import ast
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from grader.extract import Extraction, extract
from grader.model.overrides import ExtractionRule


def rows(shared_dir: Path, name: str, folder: str = "data") -> list[dict[str, Any]]:
    path = shared_dir / folder / name
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in raw.decode().split("\n") if line.strip()]


def compiles(code: str | None) -> bool:
    try:
        compile(code or "(", "solution.py", "exec")
    except SyntaxError:
        return False
    return True


# ---------------------------------------------------------------- LiveCodeBench


@pytest.fixture(scope="module")
def livecodebench(shared_dir: Path) -> list[dict[str, Any]]:
    return rows(shared_dir, "rec_lcb_qwen3_8b.jsonl.gz")


def test_livecodebench_rule_gives_the_recorded_code_of_every_row(
    livecodebench: list[dict[str, Any]],
) -> None:
    rule = ExtractionRule.LIVECODEBENCH
    same = sum(
        (extract(row["output_list"][0], rule=rule).code or "") == row["code_list"][0]
        for row in livecodebench
    )
    assert same == len(livecodebench) == 1055


def test_livecodebench_outputs_are_as_described(livecodebench: list[dict[str, Any]]) -> None:
    fences = [
        sum("```" in line for line in row["output_list"][0].split("\n")) for row in livecodebench
    ]
    empty = [
        row
        for row in livecodebench
        if extract(row["output_list"][0], rule=ExtractionRule.LIVECODEBENCH).code is None
    ]
    found = {
        "without a fence": sum(count == 0 for count in fences),
        "odd": sum(count % 2 for count in fences),
        "more than one block": sum(count > 2 for count in fences),
        "empty code": len(empty),
    }
    assert found == {"without a fence": 24, "odd": 18, "more than one block": 58, "empty code": 42}


def test_default_rule_finds_the_same_code_in_every_output_that_was_right(
    livecodebench: list[dict[str, Any]],
) -> None:
    counts: Counter[str] = Counter()
    for row in livecodebench:
        entry_point = "Solution" if "class Solution" in row["starter_code"] else None
        code = extract(row["output_list"][0], entry_point=entry_point).code
        same = (code or "").strip() == row["code_list"][0].strip()
        counts[
            f"{'right' if row['graded_list'][0] else 'wrong'}, {'same' if same else 'other'}"
        ] += 1
    assert counts == {"right, same": 305, "wrong, same": 716, "wrong, other": 34}


# ---------------------------------------------------------------- DeepSeek-R1 raw text


def test_thinking_of_r1_is_dropped(shared_dir: Path) -> None:
    texts = [
        row["messages"][-1]["content"]
        for row in rows(shared_dir, "rec_kodcode_r1_raw_alg_leet.jsonl.gz")
    ]
    closed = [text for text in texts if "</think>" in text]
    assert [len(texts), sum("<think>" in text for text in texts), len(closed)] == [60, 60, 59]
    no_fence = [text for text in texts if "```" not in text.rpartition("</think>")[2]]
    assert len(no_fence) == 2
    # Fenced or not, nothing of a draft comes through: code is in the answer, or there is none.
    for text in texts:
        code = extract(text).code
        answer = text.partition("</think>")[2]
        assert code is None or code in answer
    assert [extract(text).note for text in texts if "</think>" not in text] == [
        "The answer ends inside a thinking section; code in one is a draft."
    ]


def test_r1_answers_in_python_are_all_found(shared_dir: Path) -> None:
    found = none = 0
    for row in rows(shared_dir, "rec_kodcode_r1_raw_alg_leet.jsonl.gz"):
        text = row["messages"][-1]["content"]
        extraction = extract(text, prompt=row["messages"][0]["content"])
        if "```python" in text.rpartition("</think>")[2]:
            assert compiles(extraction.code)
            found += 1
        else:
            assert extraction.code is None
            none += 1
    assert (found, none) == (54, 6)


# ---------------------------------------------------------------- HumanEval and MBPP


def test_continuations_become_the_program_that_the_harness_of_record_ran(shared_dir: Path) -> None:
    problems = {row["task_id"]: row for row in rows(shared_dir, "humaneval.jsonl")}
    passed = 0
    for row in rows(shared_dir, "rec_humaneval_gpt35_azure.jsonl"):
        problem = problems[row["task_id"]]
        prompt, completion = problem["prompt"], row["completion"]
        for query in (completion, prompt + completion):
            code = extract(
                query, prompt=prompt, continues=prompt, entry_point=problem["entry_point"]
            ).code
            assert code is not None
            assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(prompt + completion))
        passed += row["passed"]
    assert passed == 122


def test_canonical_solutions_survive_every_way_of_presenting_them(shared_dir: Path) -> None:
    for row in rows(shared_dir, "humaneval.jsonl"):
        whole = row["prompt"] + row["canonical_solution"]
        fenced = f"Here:\n\n```python\n{whole}\n```\n"
        for text in (
            row["canonical_solution"],
            row["canonical_solution"].strip(),
            f"```python\n{row['canonical_solution']}```",
            whole,
            fenced,
            f"<think>\n{fenced}</think>\n{fenced}<|im_end|>",
        ):
            code = extract(text, continues=row["prompt"], entry_point=row["entry_point"]).code
            assert code is not None, (row["task_id"], text)
            assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(whole)), row["task_id"]


@pytest.mark.parametrize("given", ["", "prompt", "continues", "prompt continues"])
@pytest.mark.parametrize(
    ("name", "solved"),
    [
        ("rec_ldb_humaneval_codellama.jsonl.gz", 81),
        ("rec_ldb_humaneval_starcoder.jsonl.gz", 64),
        ("rec_ldb_mbpp_codellama.jsonl.gz", 256),
        ("rec_reflexion_humaneval_gpt4.jsonl.gz", 141),
    ],
)
def test_whole_solutions_compile_where_they_were_solved(
    shared_dir: Path, name: str, solved: int, given: str
) -> None:
    counted = 0
    for row in rows(shared_dir, name):
        extraction = extract(
            row["solution"],
            entry_point=row["entry_point"],
            prompt=row["prompt"] if "prompt" in given else "",
            continues=row["prompt"] if "continues" in given else None,
        )
        assert extraction.code is not None
        if row["is_solved"]:
            assert compiles(extraction.code), row["task_id"]
            assert Counter(extraction.code.split()) >= Counter(row["solution"].split()), row[
                "task_id"
            ]
            counted += 1
    assert counted == solved


# ---------------------------------------------------------------- the red-team corpus


def entry_point_of(row: dict[str, Any]) -> str | None:
    tests = row["tests"]
    return str(tests["entry_point"]) if isinstance(tests, dict) else None


def test_hostile_responses_give_what_their_verdict_needs(shared_dir: Path) -> None:
    found: dict[str, Extraction] = {
        row["id"]: extract(row["code"], prompt=row["problem"], entry_point=entry_point_of(row))
        for row in rows(shared_dir, "exploits.jsonl", "redteam")
        if row["kind"] == "response"
    }
    wrong = "def collatz_steps(n):\n    return -1"
    codes = {name: extraction.code for name, extraction in found.items()}
    assert codes == {
        "response_repeats_prompt": None,
        "response_prompt_split_tail": wrong,
        "response_two_blocks_exit": "import os\nprint('7 passed')\nos._exit(0)",
        "response_unclosed_fence": "```\nprint(-1)\n~~~python\nn = input()\nprint(-1)\n",
        "response_fake_role_tokens": None,
        "response_empty_last_block": wrong,
    }


@pytest.mark.parametrize("name", ["exploits.jsonl", "honest.jsonl"])
def test_code_that_is_no_response_comes_out_unchanged(shared_dir: Path, name: str) -> None:
    changed = [
        row["id"]
        for row in rows(shared_dir, name, "redteam")
        if row["kind"] != "response"
        and extract(row["code"], prompt=row["problem"], entry_point=entry_point_of(row)).code
        != row["code"]
    ]
    assert changed == (["code_nul_byte", "code_only_comment"] if "exploits" in name else [])


@pytest.mark.parametrize(
    ("name", "field", "count"),
    [
        ("mbpp.jsonl", "code", 974),
        ("mbpp_sanitized.jsonl", "code", 427),
        ("leetcodedataset_v0.3.1_test.jsonl.gz", "completion", 228),
        ("classeval.jsonl.gz", "solution_code", 100),
        ("kodcode_demo.jsonl.gz", "solution", 232),
    ],
)
def test_plain_solutions_come_out_as_they_went_in(
    shared_dir: Path, name: str, field: str, count: int
) -> None:
    solutions = [row[field] for row in rows(shared_dir, name)]
    same = sum(
        extract(code).code == code.replace("\r\n", "\n").replace("\r", "\n") for code in solutions
    )
    assert (same, len(solutions)) == (count, count)


def test_trials_that_were_prose_and_code_lose_only_the_prose(shared_dir: Path) -> None:
    changed: Counter[str] = Counter()
    for row in rows(shared_dir, "rec_kodcode_trials.jsonl.gz"):
        code = extract(row["solution"]).code
        if code != row["solution"]:
            assert not compiles(row["solution"])
            assert code is not None
            assert code.strip() in row["solution"]
            changed[row["result"].split()[0]] += 1
    assert changed == {"Fail": 11}
