    return sum(character in "aeiou" for character in text.lower())
