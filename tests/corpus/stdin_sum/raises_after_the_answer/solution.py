import sys

print(sum(map(int, sys.stdin.read().split()[1:])))
raise ValueError("too late")
