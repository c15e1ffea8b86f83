import os
import sys

numbers = sys.stdin.read().split()[1:]
child = os.fork()
if child == 0:
    print(sum(map(int, numbers)), flush=True)
    os._exit(0)
os.waitpid(child, 0)
