print(True)
