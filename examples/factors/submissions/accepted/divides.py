"""Tries numbers up to the first that divides."""

number = int(input())
factor = next(each for each in range(2, number) if number % each == 0)
print(number // factor, factor)
