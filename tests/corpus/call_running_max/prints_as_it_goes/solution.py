from itertools import accumulate


def running_max(numbers):
    print('running over', numbers)
    return list(accumulate(numbers, max))
