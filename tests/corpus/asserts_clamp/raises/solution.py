def clamp(value, low, high):
    if not low <= value <= high:
        raise ValueError(value)
    return value
