#!/usr/bin/env bash
# Train CodeLlama with OpenRLHF, rewarded by real tests: train_codellama.sh PROMPTS.jsonl OUT
#
# PROMPTS has a prompt and a label a row; make_prompts.py writes it from a file of problems. With
# AGENT=1 the model may repair its code by the feedback of the tests. Needs a GPU or more.
# Each option is there twice because OpenRLHF renamed them all in 0.10.2.
set -euo pipefail
prompts=$1 out=$2
here=$(cd "$(dirname "$0")" && pwd)
grader=$(cd "$here/../../grader" && pwd)

# What grades: a queue of workers where one is set, else slots of each rollout engine.
# export GRADER_BROKER=redis://...   # or GRADER_URL=http://any:TOKEN@host:8080
export GRADER_POLICY=${GRADER_POLICY:-graded}
# Dynamic filtering drops prompts that are always or never solved; it needs whole scores.
export GRADER_REWARD_SCORE=binary

version=$(python3 -c 'from importlib.metadata import version; print(version("openrlhf"))')
if [ "$(printf '%s\n' 0.10.2 "$version" | sort -V | head -n 1)" = 0.10.2 ]; then
    options=(
        --actor.model_name_or_path codellama/CodeLlama-7b-Instruct-hf
        --data.prompt_dataset "$prompts"
        --data.input_key prompt
        --data.label_key label
        --data.apply_chat_template
        --algo.advantage.estimator reinforce_baseline
        --algo.dynamic_filtering_enable
        --algo.dynamic_filtering_range 0.0 1.0
        --rollout.n_samples_per_prompt 8
        --rollout.batch_size 128
        --rollout.max_new_tokens 1024
        --data.max_len 4096
        --train.batch_size 128
        --train.colocate_all
        --vllm.num_engines 1
        --vllm.enable_sleep
        --ds.enable_sleep
        --ds.packing_samples
        --actor.gradient_checkpointing_enable
        --ckpt.output_dir "$out"
    )
    reward=(--reward.remote_url "$grader/reward_func.py")
    agent=(--train.agent_func_path "$grader/agent_func.py")
else
    options=(
        --pretrain codellama/CodeLlama-7b-Instruct-hf
        --prompt_data "$prompts"
        --input_key prompt
        --label_key label
        --apply_chat_template
        --advantage_estimator reinforce_baseline
        --dynamic_filtering
        --dynamic_filtering_reward_range 0.0 1.0
        --n_samples_per_prompt 8
        --rollout_batch_size 128
        --generate_max_len 1024
        --max_len 4096
        --train_batch_size 128
        --colocate_all_models
        --vllm_num_engines 1
        --vllm_enable_sleep
        --deepspeed_enable_sleep
        --packing_samples
        --gradient_checkpointing
        --save_path "$out"
    )
    reward=(--remote_rm_url "$grader/reward_func.py")
    agent=(--agent_func_path "$grader/agent_func.py")
fi
if [ "${AGENT:-0}" = 1 ]; then reward=("${agent[@]}"); fi

exec python3 -m openrlhf.cli.train_ppo_ray "${options[@]}" "${reward[@]}"
