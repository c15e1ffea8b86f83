guess = 0
print(guess, flush=True)
while input() != "found":
    guess += 1
    print(guess, flush=True)
