"""A rollout engine seen from the reward function: single calls from many threads. A program.

python -m benchmarks.single_calls ROWS THREADS

Loads `grader/reward_func.py` by its path, as OpenRLHF does, calls it once, and then for each row
of the file (`query`, `prompt`, `label`) from so many threads. Prints seconds and rewards.
"""

import importlib.util
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REWARD_FILE = Path(__file__).resolve().parent.parent / "grader/reward_func.py"


def main(rows_file: Path, threads: int) -> None:
    """Call, and print what came of it as JSON."""
    spec = importlib.util.spec_from_file_location("reward_func", REWARD_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = [json.loads(line) for line in rows_file.read_text().splitlines()]

    def call(row: dict[str, str]) -> float:
        result = module.reward_func([row["query"]], [row["prompt"]], [row["label"]])
        return float(result["rewards"][0])

    call(rows[0])
    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter()
        rewards = list(pool.map(call, rows))
        elapsed_s = time.perf_counter() - began
    print(json.dumps({"elapsed_s": elapsed_s, "rewards": rewards}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
