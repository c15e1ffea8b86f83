import math


def at_least(a, b):
    return a if a >= b else b


def largest(items):
    found = -math.inf
    for item in items:
        found = at_least(item, found)
    return found
