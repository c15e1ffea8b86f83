def running_max(numbers):
    while not numbers:
        pass
    return [max(numbers[: end + 1]) for end in range(len(numbers))]
