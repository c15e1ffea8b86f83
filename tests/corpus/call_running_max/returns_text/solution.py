from itertools import accumulate


def running_max(numbers):
    return str(list(accumulate(numbers, max)))
