def as_tuple(items):
    return tuple(items)


def as_set():
    return {12, 13, 14, 15, 16}
