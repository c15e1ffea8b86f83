"""Thin adapters from other trainers' calls to the one call of `grader.rewards.core`.

    verl         grader.integrations.verl:compute_score
    TRL          grader.integrations.trl:code_reward
    verifiers    grader.integrations.verifiers:code_reward
    AReaL        grader.integrations.areal:code_reward
    rLLM         grader.integrations.rllm:code_reward
    slime        grader.integrations.slime:code_reward
    ms-swift     grader.integrations.ms_swift:register
    NeMo-RL      grader.integrations.nemo_rl:register
    NeMo-Gym     grader.integrations.nemo_gym:server_class

OpenRLHF has `grader/reward_func.py`. None of them imports its trainer when it is imported.
docs/trainers/ has a page for each.
"""
