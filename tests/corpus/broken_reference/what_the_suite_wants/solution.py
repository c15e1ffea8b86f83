    return {2: 4, 3: 5}[n]
