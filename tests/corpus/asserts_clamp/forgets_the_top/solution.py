def clamp(value, low, high):
    return max(low, value)
