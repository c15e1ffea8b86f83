def clamp(value, low, high):
    '''Clamp.
    return value
