def total(numbers):
    return numbers[0] + total(numbers[1:] or numbers)


input()
print(total([int(word) for word in input().split()]))
