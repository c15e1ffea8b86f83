return sum(text.lower().count(vowel) for vowel in "aeiou")
