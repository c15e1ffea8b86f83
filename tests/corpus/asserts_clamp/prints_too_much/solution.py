def clamp(value, low, high):
    print("0" * 100_000)
    return max(low, min(value, high))
