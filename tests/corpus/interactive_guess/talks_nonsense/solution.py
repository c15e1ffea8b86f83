print("points 1\nfound", flush=True)
input()
