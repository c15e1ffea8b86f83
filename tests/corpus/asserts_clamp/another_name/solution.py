def limit_to(value, low, high):
    return max(low, min(value, high))
