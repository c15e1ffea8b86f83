def halves(numbers):
    return [number / 2 for number in numbers]
