from itertools import accumulate


def running_max(numbers):
    return tuple(accumulate(numbers, max))
