import sys

print("The sum is", sum(map(int, sys.stdin.read().split()[1:])))
