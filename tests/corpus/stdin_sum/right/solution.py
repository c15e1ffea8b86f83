count = int(input())
numbers = map(int, input().split()) if count else []
print(sum(numbers))
