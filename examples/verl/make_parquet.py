"""Write verl's data: make_parquet.py PROMPTS.jsonl OUT.parquet.

`examples/openrlhf/make_prompts.py` writes PROMPTS from a file of problems: a `prompt` and a
`label` in each row.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def row(given: Any, index: int) -> dict[str, Any]:
    """Return a row as verl reads it; the label becomes the `ground_truth`."""
    if not isinstance(given, dict) or not {"prompt", "label"} <= given.keys():
        sys.exit(f"row {index + 1} has no prompt and label: make them with make_prompts.py first")
    return {
        "data_source": "code",
        "prompt": given["prompt"],
        "ability": "code",
        "reward_model": {"style": "rule", "ground_truth": given["label"]},
        "extra_info": {"index": index},
    }


def main(source: Path, target: Path) -> None:
    """Write a row for each prompt."""
    try:
        with source.open() as lines:
            rows = [row(json.loads(line), index) for index, line in enumerate(lines)]
    except OSError as error:
        sys.exit(f"cannot read {source}: {error.strerror}")
    except ValueError as error:
        sys.exit(f"{source}: {error}; expected the JSONL that make_prompts.py writes")
    pq.write_table(pa.Table.from_pylist(rows), target)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
