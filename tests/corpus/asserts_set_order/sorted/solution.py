def as_tuple(items):
    return tuple(sorted(items))


def as_set():
    return {16}
