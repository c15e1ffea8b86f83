def clamp(value, low, high):
    return max(low, min(value, high))

import sys

sys.exit(0)
