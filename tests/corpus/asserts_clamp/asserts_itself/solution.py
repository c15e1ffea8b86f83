def clamp(value, low, high):
    assert low <= value <= high
    return value
