from itertools import accumulate


def running_max(numbers):
    print(*accumulate(numbers, max))
