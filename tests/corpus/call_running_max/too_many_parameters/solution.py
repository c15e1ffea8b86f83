from itertools import accumulate


def running_max(numbers, start):
    return list(accumulate(numbers, max))
