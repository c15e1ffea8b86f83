def save(path, lines):
    with open(path, "w") as file:
        for line in lines:
            file.write(line + "\n")
