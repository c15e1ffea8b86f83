def largest(items):
    return items[0]


def smallest(items):
    return min(items)
