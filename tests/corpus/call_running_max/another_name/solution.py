from itertools import accumulate


def cumulative_max(numbers):
    return list(accumulate(numbers, max))
