def total(items, prices):
    return sum(prices[name] * count for name, count in items.items())
