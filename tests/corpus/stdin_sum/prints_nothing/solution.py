import sys

sum(map(int, sys.stdin.read().split()[1:]))
