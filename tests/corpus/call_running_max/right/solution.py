from itertools import accumulate


def running_max(numbers):
    return list(accumulate(numbers, max))
