def count_vowels(text):
    return sum(character in "aeiou" for character in text.lower())
