count = int(input())
hoard = []
while not count:
    hoard.append(bytes(1 << 20).replace(b"\0", b"x"))
print(sum(map(int, input().split())))
