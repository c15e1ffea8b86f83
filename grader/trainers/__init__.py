"""Thin adapters from other trainers' calls to the one call of `grader.rewards.core`.

    verl         grader.trainers.verl:compute_score
    TRL          grader.trainers.trl:code_reward
    verifiers    grader.trainers.verifiers:code_reward
    AReaL        grader.trainers.areal:code_reward
    rLLM         grader.trainers.rllm:code_reward
    slime        grader.trainers.slime:code_reward
    ms-swift     grader.trainers.ms_swift:register
    NeMo-RL      grader.trainers.nemo_rl:register
    NeMo-Gym     grader.trainers.nemo_gym:server_class

OpenRLHF has `grader/reward_func.py`. None of them imports its trainer when it is imported.
docs/trainers/ has a page for each.
"""
