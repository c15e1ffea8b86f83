print("\n".join(dict.fromkeys(input().split())))
