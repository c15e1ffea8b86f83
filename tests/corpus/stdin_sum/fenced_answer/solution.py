<think>
```python
print(0)
```
That would be wrong.
</think>
Here is the solution:

```python
import sys

print(sum(map(int, sys.stdin.read().split()[1:])))
```
