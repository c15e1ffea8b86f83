"""The recorded problems beside the repository, with their reference solutions as programs."""

from dataclasses import replace
from pathlib import Path

from agreement.pairs import Found, Pair
from grader.model.errors import GraderError
from grader.suites import ProblemIndex

FILES = (
    "humaneval.jsonl",
    "mbpp.jsonl",
    "mbpp_sanitized.jsonl",
    "humanevalpack_python.jsonl.gz",
    "humanevalplus_mini_v0.1.10.jsonl",
    "humanevalplus_v0.1.10.jsonl.gz",
    "humanevalplus_originfmt_first60.jsonl.gz",
    "mbppplus_v0.2.0.jsonl.gz",
    "mbppplus_originfmt.jsonl.gz",
    "leetcodedataset_v0.3.1_test.jsonl.gz",
    "quixbugs_python.jsonl",
    "exercism_python.jsonl.gz",
    "kodcode_demo.jsonl.gz",
    "classeval.jsonl.gz",
    "bigcodebench_hard.jsonl.gz",
    "apps_coderl_graded5.jsonl",
)


def read(file: Path) -> Found:
    """Return the problems of a file that have a reference."""
    pairs = []
    missing: dict[str, str] = {}
    with ProblemIndex.load(file) as index:
        for id in index:
            try:
                suite = index.get(id)
            except GraderError as error:
                missing[id] = str(error)
                continue
            assert suite is not None
            if suite.reference is not None:
                hidden = replace(suite, reference=None, problem_id=None)
                pair = Pair(id=id, code=suite.reference, suite=hidden, reference=suite.reference)
                pairs.append(pair)
    return Found(pairs=pairs, missing=missing)
