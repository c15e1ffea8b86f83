    return n + n
