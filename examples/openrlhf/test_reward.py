"""Try the reward function by hand, as OpenRLHF calls it: python examples/openrlhf/test_reward.py.

`grader try reward_func.py data.jsonl` does the same with rows of your own.
"""

import json
import sys
from pathlib import Path

# The file alone is enough: it finds the rest of its package itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "grader"))

from reward_func import reward_func  # type: ignore[import-not-found]

TESTS = json.dumps({"assert_case": ["assert add(1, 2) == 3", "assert add(-1, 1) == 0"]})
PROMPT = "<s>[INST] Write a function add(a, b). [/INST]"

ROWS = [
    (" ```python\ndef add(a, b):\n    return a + b\n```</s>", TESTS),
    (" ```python\ndef add(a, b):\n    return a\n```</s>", TESTS),
    (" It is 40 + 2, so the answer is 42.</s>", '{"math": "42"}'),
]


def main() -> None:
    """Print the reward of three rows."""
    result = reward_func(
        [PROMPT + response for response, _ in ROWS], [PROMPT] * 3, [label for _, label in ROWS]
    )
    for number, (response, _) in enumerate(ROWS):
        reward, score = result["rewards"][number].item(), result["scores"][number].item()
        sys.stdout.write(f"{reward:+.2f}  score {score:.2f}  {response.strip()[:50]!r}\n")
    logs = {key: values.tolist() for key, values in result["extra_logs"].items() if values.any()}
    sys.stdout.write(json.dumps(logs, indent=2) + "\n")


if __name__ == "__main__":
    main()
