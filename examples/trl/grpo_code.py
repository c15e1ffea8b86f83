"""Train a code model with TRL's GRPO, rewarded by real tests.

    python examples/openrlhf/make_prompts.py problems.jsonl prompts.jsonl
    accelerate launch examples/trl/grpo_code.py prompts.jsonl --output out

The rows have a `prompt`, as chat messages, and a `label`. Settings of the grader come from the
environment: GRADER_BROKER for a queue of workers, else GRADER_SLOTS for each process.
"""

import argparse

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

from grader.trainers.trl import code_reward


def main() -> None:
    """Train as the command line says."""
    parser = argparse.ArgumentParser(description="GRPO on code, with rewards by execution.")
    parser.add_argument("prompts", help="a JSONL file")
    parser.add_argument("--model", default="Qwen/Qwen2.5-Coder-1.5B-Instruct")
    parser.add_argument("--output", default="out")
    given = parser.parse_args()
    config = GRPOConfig(
        output_dir=given.output,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=8,
        num_generations=8,
        max_completion_length=1024,
        learning_rate=1e-6,
        logging_steps=1,
        log_completions=True,
    )
    trainer = GRPOTrainer(
        model=given.model,
        reward_funcs=code_reward,
        args=config,
        train_dataset=load_dataset("json", data_files=given.prompts, split="train"),
    )
    trainer.train()


if __name__ == "__main__":
    main()
