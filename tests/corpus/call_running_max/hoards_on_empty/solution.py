def running_max(numbers):
    hoard = [0]
    while not numbers:
        hoard += hoard
    return [max(numbers[: end + 1]) for end in range(len(numbers))]
