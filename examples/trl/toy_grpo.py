"""Train a random model to finish one-line functions, on a CPU, in minutes.

A tiny model with random weights and a vocabulary of a dozen tokens learns by GRPO from
`code_reward` alone which operator and which operand each function lacks; every completion runs
in the sandbox. It shows the whole loop at work, and what the logs look like:

    pip install trl==1.16.0 matplotlib
    python examples/trl/toy_grpo.py --picture rewards.png
    python examples/trl/toy_grpo.py --problems problems.jsonl --steps 1
"""

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import Any

PIECES = (" a", " b", " +", " -", " *")
"""The tokens that complete a function, beside those of the prompts."""

INPUTS = [[2, 2], [1, 4], [7, 3], [3, 5]]
"""With these, a partly right completion passes some cases, and an empty one passes none."""

ANSWERS = {"add": " + b\n", "subtract": " - b\n", "multiply": " * b\n", "square": " * a\n"}


def rows() -> list[dict[str, Any]]:
    """Return the data set: rows of EvalPlus's layout, which are labels without conversion."""
    return [
        {
            "prompt": f"def {name}(a, b):\n    return a",
            "entry_point": name,
            "canonical_solution": answer,
            "base_input": INPUTS,
            "plus_input": [],
        }
        for name, answer in ANSWERS.items()
    ]


def read(path: Path) -> list[dict[str, Any]]:
    """Return the problems of a JSONL file: at least four, each with a `prompt` that is code."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def make_tokenizer(problems: list[dict[str, Any]] | None = None) -> Any:
    """Return a tokenizer whose tokens are words of the prompts with the blanks before them."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    splitter = pre_tokenizers.Split(Regex(r"\n *\S*| \S+|\S+"), behavior="isolated")
    prompts = [row["prompt"] for row in problems or rows()]
    words = [word for prompt in prompts for word, _ in splitter.pre_tokenize_str(prompt)]
    vocabulary = ["<pad>", "<eos>", *dict.fromkeys([*PIECES, *words])]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}))
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.Fuse()
    special = {"pad_token": "<pad>", "eos_token": "<eos>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="left", **special)


def make_model(tokenizer: Any) -> Any:
    """Return a model of about 60,000 weights, all random."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=32,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    return LlamaForCausalLM(config)


def train(
    steps: int,
    *,
    folder: str,
    seed: int = 0,
    batch: int = 64,
    problems: list[dict[str, Any]] | None = None,
) -> list[dict[str, float]]:
    """Train and return what TRL logged at each step; a quarter of a batch is a group."""
    import torch
    from datasets import Dataset
    from transformers import set_seed
    from trl import GRPOConfig, GRPOTrainer

    from grader.trainers.trl import code_reward

    torch.set_num_threads(1)
    set_seed(seed)
    problems = problems or rows()
    tokenizer = make_tokenizer(problems)
    config = GRPOConfig(
        output_dir=folder,
        max_steps=steps,
        per_device_train_batch_size=batch,
        num_generations=batch // 4,
        max_completion_length=2,
        learning_rate=1e-3,
        lr_scheduler_type="constant",
        beta=0.0,
        temperature=1.0,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        bf16=False,
        seed=seed,
    )
    trainer = GRPOTrainer(
        model=make_model(tokenizer),
        processing_class=tokenizer,
        reward_funcs=code_reward,
        args=config,
        train_dataset=Dataset.from_list(problems),
    )
    trainer.train()
    return [entry for entry in trainer.state.log_history if "reward" in entry]


def draw(history: list[dict[str, float]], picture: Path) -> None:
    """Draw the mean reward and the share of completions that pass, over the steps."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.2), dpi=90)
    steps = range(1, len(history) + 1)
    for key, name in (
        ("reward", "mean reward"),
        ("grader/verdict_passed", "share that passes every case"),
        ("grader/verdict_no_code", "share without any code"),
    ):
        axes.plot(steps, [entry[key] for entry in history], label=name, linewidth=1.4)
    axes.set_xlabel("step")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(picture)


def main() -> None:
    """Train as the command line says."""
    parser = argparse.ArgumentParser(description="A toy GRPO run with real grading.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--problems", type=Path, help="a JSONL file, in place of the own problems")
    parser.add_argument("--history", type=Path, help="write what was logged, a JSON line a step")
    parser.add_argument("--picture", type=Path, help="draw the curves, as a PNG")
    given = parser.parse_args()
    # A reward for each share of the cases that pass: a random model learns from small steps only.
    os.environ.setdefault("GRADER_POLICY", "fraction")
    os.environ.setdefault("GRADER_REWARD_SCORE", "fraction")
    with tempfile.TemporaryDirectory() as folder:
        problems = read(given.problems) if given.problems else None
        history = train(given.steps, folder=folder, seed=given.seed, problems=problems)
    if given.history:
        given.history.write_text("".join(json.dumps(entry) + "\n" for entry in history))
    if given.picture:
        draw(history, given.picture)
    first, last = history[0]["reward"], history[-1]["reward"]
    print(f"mean reward: {first:.2f} at the first step, {last:.2f} at the last")


if __name__ == "__main__":
    main()
