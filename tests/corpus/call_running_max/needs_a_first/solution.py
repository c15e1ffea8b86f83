def running_max(numbers):
    found = [numbers[0]]
    for number in numbers[1:]:
        found.append(max(found[-1], number))
    return found
