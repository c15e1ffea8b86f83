#!/usr/bin/env bash
# Train with verl's GRPO, rewarded by real tests: grpo_qwen.sh TRAIN.parquet TEST.parquet
#
# make_parquet.py writes both files. This needs at least one GPU, and grader-rl installed where verl's
# reward workers run.
set -euo pipefail
train=$1 test=$2

# verl starts 8 processes for rewards. With a queue they share its workers. Without one, each has slots
# of its own: set GRADER_SLOTS to cores divided by processes.
# export GRADER_BROKER=redis://...   # or GRADER_URL=http://any:TOKEN@host:8080
export GRADER_SLOTS=${GRADER_SLOTS:-2}
export GRADER_POLICY=${GRADER_POLICY:-graded}

exec python3 -m verl.trainer.main_ppo \
    algorithm.adv_estimator=grpo \
    algorithm.filter_groups.enable=True \
    algorithm.filter_groups.metric=acc \
    data.train_files="$train" \
    data.val_files="$test" \
    data.train_batch_size=128 \
    data.max_prompt_length=1024 \
    data.max_response_length=2048 \
    actor_rollout_ref.model.path=Qwen/Qwen2.5-Coder-1.5B-Instruct \
    actor_rollout_ref.actor.ppo_mini_batch_size=64 \
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \
    actor_rollout_ref.rollout.name=vllm \
    actor_rollout_ref.rollout.n=8 \
    actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8 \
    actor_rollout_ref.rollout.gpu_memory_utilization=0.5 \
    reward.custom_reward_function.path=pkg://grader.trainers.verl \
    reward.custom_reward_function.name=compute_score \
    reward.reward_manager.name=naive \
    reward.num_workers=8 \
    trainer.n_gpus_per_node=1 \
    trainer.val_before_train=False
