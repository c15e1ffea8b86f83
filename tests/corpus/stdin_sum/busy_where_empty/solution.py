count = int(input())
while not count:
    pass
print(sum(map(int, input().split())))
