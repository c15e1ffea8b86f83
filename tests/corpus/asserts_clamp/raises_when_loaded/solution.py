def clamp(value, low, high):
    return max(low, min(value, high))

raise RuntimeError('not ready')
