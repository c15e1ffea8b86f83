def clamp(value, low, high):
    return int(input())
