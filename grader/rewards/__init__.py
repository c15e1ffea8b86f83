"""From samples of a trainer (query, prompt, label) to rewards, scores and logs.

    from grader.rewards.core import open_core
    from grader.rewards.sample import Sample

    core = open_core(settings)
    ratings = core.rate([Sample(query=text, prompt=prompt, label=label)])

The label of a sample, or the setting `task`, chooses what grades it: its tests (`code`), its
answer (`maths`), a model (`conversation`), or several of these (`combine`). Adapters to
trainers are thin: `openrlhf` is one.
"""
