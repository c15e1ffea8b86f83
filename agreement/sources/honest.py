"""Tricky but honest submissions beside the repository, without references."""

import json
import re
from dataclasses import replace
from pathlib import Path

from agreement.pairs import Found, Pair
from grader.suites import parse_label, parse_problem

FILES = ("honest.jsonl", "honest_2.jsonl")

_FENCED = re.compile(r"\A\s*```(?:python)?\n(.*?)\n?```\s*\Z", re.DOTALL)


def read(file: Path) -> Found:
    """Return the submissions of a file, with the code between their fences."""
    pairs = []
    for line in file.read_text("utf-8").splitlines():
        row = json.loads(line)
        if "label" in row:
            suite = parse_label(row["label"])
        else:
            suite = parse_problem({name: row[name] for name in ("id", "style", "tests")})
        fenced = _FENCED.match(row["code"])
        code = fenced[1] if fenced else row["code"]
        suite = replace(suite, reference=None, problem_id=None)
        pairs.append(Pair(id=row["id"], code=code, suite=suite, reference=code))
    return Found(pairs=pairs)
