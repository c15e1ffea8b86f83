numbers = [float(word) for word in input().split()]
print(f"{sum(numbers) / len(numbers):.2f}")
