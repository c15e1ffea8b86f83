"""The process that compares expressions for `symbolic`; a script, not a module to import.

Reads lines of JSON, `[left, right, seconds]`, and writes `[equal, seconds]` for each: the CPU
time that it may take, and that it took. First comes a line that says that it is ready. Dies by
SIGPROF of a comparison that takes too much CPU time, with exit code 3 of one that takes too much
memory. Imports nothing of grader.
"""

import json
import re
import resource
import signal
import sys
import time

_MEMORY_BYTES = 4 * 1024**3
"""Of address space, of which the libraries take a good part."""

_OUT_OF_MEMORY = 3

_FUNCTION = re.compile(
    r"(?<![\\a-zA-Z])(arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|exp|pi"
    r"|theta|alpha|beta|infty)(?![a-zA-Z])"
)
_POWER = re.compile(r"\^\s*(-?\d{2,}|-\d)")


def to_latex(text: str) -> str:
    """Return an expression in LaTeX, whether it was written so or as plain text."""
    text = text.replace("**", "^")
    text = _braced_calls(text, "sqrt", "\\sqrt")
    text = _braced_powers(text)
    text = _POWER.sub(r"^{\1}", text)
    text = _FUNCTION.sub(r"\\\1 ", text)
    return re.sub(r"(?<!\\)\*", r" \\cdot ", text)


def _braced_calls(text: str, name: str, command: str) -> str:
    pattern = re.compile(rf"\\?{name}\s*\(")
    while match := pattern.search(text):
        end = _closing(text, match.end())
        if end is None:
            return text
        text = f"{text[: match.start()]}{command}{{{text[match.end() : end]}}}{text[end + 1 :]}"
    return text


def _braced_powers(text: str) -> str:
    while (start := text.find("^(")) != -1:
        end = _closing(text, start + 2)
        if end is None:
            return text
        text = f"{text[:start]}^{{{text[start + 2 : end]}}}{text[end + 1 :]}"
    return text


def _closing(text: str, start: int) -> int | None:
    depth = 1
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if not depth:
            return position
    return None


def main() -> None:
    """Answer until standard input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    import math_verify.parser
    from math_verify import LatexExtractionConfig, parse, verify

    def refuse(*_: object, **__: object) -> None:
        message = "plain expressions are not read: SymPy would run them as Python"
        raise ValueError(message)

    math_verify.parser.parse_expr = refuse
    config = [LatexExtractionConfig()]

    def read(text: str) -> object:
        return parse(f"${to_latex(text)}$", config, parsing_timeout=None)

    def same(left: str, right: str) -> bool:
        expected, answer = read(left), read(right)
        if not expected or not answer:
            return False
        return bool(
            verify(expected, answer, timeout_seconds=None)
            or verify(answer, expected, timeout_seconds=None)
        )

    same("x + 1", "1 + x")
    sys.stdout.write("true\n")
    sys.stdout.flush()
    for line in sys.stdin:
        left, right, cpu_time_s = json.loads(line)
        began = time.process_time()
        # No handler on purpose: the default action ends the process even inside C code.
        signal.setitimer(signal.ITIMER_PROF, cpu_time_s)
        try:
            equal = same(left, right)
        except MemoryError:
            sys.exit(_OUT_OF_MEMORY)
        except Exception:  # noqa: BLE001 - whatever algebra makes of it, it is not equal
            equal = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        answer = [equal, time.process_time() - began]
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
