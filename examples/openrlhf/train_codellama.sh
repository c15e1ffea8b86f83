#!/usr/bin/env bash
# Train CodeLlama with OpenRLHF, rewarded by real tests: train_codellama.sh PROMPTS.jsonl OUT
#
# PROMPTS has a prompt and a label in each row; make_prompts.py writes it from a file of problems. With
# AGENT=1 the model may repair its code from the tests' feedback. This needs at least one GPU.
# For OpenRLHF 0.8.0 to 0.11.2, which renamed an option in 0.9.8, and all of them in 0.10.2.
set -euo pipefail
prompts=$1 out=$2
here=$(cd "$(dirname "$0")" && pwd)
grader=$(cd "$here/../../grader" && pwd)

# A queue of workers grades if one is set, else slots of each rollout engine.
# export GRADER_BROKER=redis://...   # or GRADER_URL=http://any:TOKEN@host:8080
export GRADER_POLICY=${GRADER_POLICY:-graded}
# Dynamic filtering drops prompts that are always or never solved; it needs binary scores.
export GRADER_REWARD_SCORE=binary

version=$(python3 -c 'from importlib.metadata import version; print(version("openrlhf"))')
since() { [ "$(printf '%s\n' "$1" "$version" | sort -V | head -n 1)" = "$1" ]; }

if since 0.10.2; then
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
        --n_samples_per_prompt 8
        --rollout_batch_size 128
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
    if since 0.9.8; then options+=(--max_new_tokens 1024); else options+=(--generate_max_len 1024); fi
    if since 0.8.1; then options+=(--dynamic_filtering --dynamic_filtering_reward_range 0.0 1.0); fi
    reward=(--remote_rm_url "$grader/reward_func.py")
    agent=(--agent_func_path "$grader/agent_func.py")
fi
if [ "${AGENT:-0}" = 1 ]; then
    since 0.8.7 || { echo "agents need OpenRLHF 0.8.7; this is $version" >&2; exit 2; }
    reward=("${agent[@]}")
fi

exec python3 -m openrlhf.cli.train_ppo_ray "${options[@]}" "${reward[@]}"
