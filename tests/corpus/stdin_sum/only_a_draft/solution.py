<think>
```python
import sys

print(sum(map(int, sys.stdin.read().split()[1:])))
```
I am not sure about
