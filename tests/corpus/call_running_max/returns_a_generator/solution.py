def running_max(numbers):
    for end in range(len(numbers)):
        yield max(numbers[: end + 1])
