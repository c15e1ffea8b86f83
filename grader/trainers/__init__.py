"""Thin adapters between trainers and `grader.rewards.core`.

    verl         grader.trainers.verl:compute_score
    TRL          grader.trainers.trl:code_reward
    verifiers    grader.trainers.verifiers:code_reward
    AReaL        grader.trainers.areal:code_reward
    rLLM         grader.trainers.rllm:code_reward
    slime        grader.trainers.slime:code_reward
    ms-swift     grader.trainers.ms_swift:register
    NeMo-RL      grader.trainers.nemo_rl:register
    NeMo-Gym     grader.trainers.nemo_gym:server_class

OpenRLHF uses `grader/reward_func.py`. Importing an adapter does not import its trainer.
docs/trainers/ has a page for each trainer.
"""
