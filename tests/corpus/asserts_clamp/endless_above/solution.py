def clamp(value, low, high):
    while value > high:
        pass
    return max(low, value)
