input()
print("points 1", flush=True)
input()
