"""Write the prompts of a training run from a file of problems: make_prompts.py IN.jsonl OUT.jsonl.

Each row gets a `prompt`, as chat messages, and a `label`: the whole problem as JSON text, in any
format that the grader reads.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TEXTS = ("question", "prompt", "text", "question_content", "complete_prompt")
TASK = "Solve this in Python. Answer with the whole program in one code block.\n\n"


def messages(problem: dict[str, Any]) -> list[dict[str, str]]:
    """Return what the model is asked."""
    text = next((problem[name] for name in TEXTS if isinstance(problem.get(name), str)), None)
    if text is None:
        sys.exit(f"a problem has none of {', '.join(TEXTS)}; it has {', '.join(problem)}")
    return [{"role": "user", "content": TASK + text}]


def read(source: Path) -> Iterator[dict[str, Any]]:
    """Yield the problems of a JSONL file."""
    number = 0
    try:
        with source.open() as lines:
            for line in lines:
                number += 1
                if not line.strip():
                    continue
                problem = json.loads(line)
                if not isinstance(problem, dict):
                    message = f"found {line.strip():.40}"
                    raise TypeError(message)
                yield problem
    except OSError as error:
        sys.exit(f"cannot read {source}: {error.strerror}")
    except (ValueError, TypeError) as error:
        sys.exit(f"{source}, line {number}: {error}; expected plain JSONL, one object a line")


def main(source: Path, target: Path) -> None:
    """Write a row for each problem."""
    rows = [{"prompt": messages(each), "label": json.dumps(each)} for each in read(source)]
    target.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
