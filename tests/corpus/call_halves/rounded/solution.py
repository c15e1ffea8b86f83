def halves(numbers):
    return [round(number / 2, 1) for number in numbers]
