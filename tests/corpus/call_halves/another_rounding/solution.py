def halves(numbers):
    return [number * 5 / 10 for number in numbers]
