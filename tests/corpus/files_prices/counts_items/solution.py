def total(items, prices):
    return sum(prices[name] for name in items)
