count = int(input())
while not count:
    print("0" * 4096)
print(sum(map(int, input().split())))
