"""Rewards, scores and logs for the samples of a trainer.

    from grader.rewards.core import RewardCore
    from grader.rewards.sample import Sample

    core = RewardCore(settings)
    ratings = core.rate([Sample(query=text, prompt=prompt, label=label)])

The label of a sample, or the setting `task`, decides what grades it: tests (`code`), an expected
answer (`maths`), a model (`conversation`), or several of these (`combine`). Thin adapters, such as
`openrlhf` and those in `grader.trainers`, connect trainers to the core.
"""
