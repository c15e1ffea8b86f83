"""Accepts two factors of the number, both above 1, in any order."""

import re
import sys
from pathlib import Path

number = int(Path(sys.argv[1]).read_text())
output = sys.stdin.read()
if re.fullmatch(r"\s*\d{1,12}\s+\d{1,12}\s*", output, re.ASCII) is None:
    sys.exit(43)
first, second = map(int, output.split())
sys.exit(42 if first > 1 and second > 1 and first * second == number else 43)
