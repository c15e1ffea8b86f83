low, high = 0, 1000
while True:
    guess = (low + high) // 2
    print(guess, flush=True)
    said = input()
    if said == "found":
        raise SystemExit(3)
    low, high = (guess + 1, high) if said == "higher" else (low, guess - 1)
