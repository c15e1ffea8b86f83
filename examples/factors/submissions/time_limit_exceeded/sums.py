"""Tries all pairs."""

number = int(input())
for first in range(2, number):
    for second in range(2, number):
        if first * second == number:
            print(first, second)
            raise SystemExit
