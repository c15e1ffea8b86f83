def running_max(numbers):
    best, found = 0, []
    for number in numbers:
        best = max(best, number)
        found.append(best)
    return found
