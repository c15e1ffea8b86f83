Sure! Here is the function:

```python
def count_vowels(text):
    return sum(character in "aeiou" for character in text.lower())
```

You can use it like this:

```python
print(count_vowels("apple"))
```
