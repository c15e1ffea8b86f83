"""Takes 1 for a factor."""

print(1, input())
