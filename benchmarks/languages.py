"""Compiled and other languages: the grader against the same compilers and programs by hand.

The program reads ten numbers and prints the sum of their squares.
"""

import os
import shlex
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from grader import languages
from grader.config.loading import load_settings
from grader.config.settings import SandboxChoice
from grader.grading.grader import Grader
from grader.languages import PREBUILT, Language, SourceFile
from grader.model import MiB, StdinTests, Submission, TestSuite
from grader.model.verdict import Verdict
from grader.running.programs import commands, prepare
from grader.sandbox.native.prebuilt import prebuilt_folder
from grader.suites import parse_label

CASES = 10
"""Of the problem whose throughput is measured."""
_MANY = 41
"""Cases of the problem by which a case is measured: so many that other work averages out."""
TIMEOUT_S = 60.0
_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Of submissions. A user's own path may lead to other versions."""

PROGRAMS = {
    "c": """#include <stdio.h>
int main(void) {
    long long n, total = 0;
    while (scanf("%lld", &n) == 1) total += n * n;
    printf("%lld\\n", total);
}
""",
    "cpp": """#include <bits/stdc++.h>
using namespace std;
int main() {
    long long n, total = 0;
    while (cin >> n) total += n * n;
    cout << total << endl;
}
""",
    "java": """import java.util.*;
public class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        long total = 0;
        while (in.hasNextLong()) { long n = in.nextLong(); total += n * n; }
        System.out.println(total);
    }
}
""",
    "javascript": """const text = require("fs").readFileSync(0, "utf8");
const numbers = text.split(/\\s+/).filter((word) => word).map(Number);
console.log(numbers.reduce((total, n) => total + n * n, 0));
""",
    "typescript": """const text: string = require("fs").readFileSync(0, "utf8");
const numbers: number[] = text.split(/\\s+/).filter((word) => word).map(Number);
console.log(numbers.reduce((total: number, n: number) => total + n * n, 0));
""",
    "go": """package main
import "fmt"
func main() {
    var n, total int
    for {
        if _, err := fmt.Scan(&n); err != nil { break }
        total += n * n
    }
    fmt.Println(total)
}
""",
    "rust": """use std::io::Read;
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let total: i64 = text.split_whitespace().map(|w| w.parse::<i64>().unwrap().pow(2)).sum();
    println!("{}", total);
}
""",
    "ruby": "total = $stdin.read.split.sum { |word| word.to_i**2 }\nputs total\n",
    "php": "<?php\n$words = preg_split('/\\s+/', trim(stream_get_contents(STDIN)));\n"
    '$total = array_sum(array_map(fn($word) => (int)$word ** 2, $words));\necho "$total\\n";\n',
    "lua": 'local total = 0\nfor word in io.read("a"):gmatch("%d+") do\n'
    "    total = total + tonumber(word) ^ 2 // 1 | 0\nend\nprint(total)\n",
    "perl": "my $total = 0;\n$total += $_ ** 2 for split ' ', join '', <STDIN>;\n"
    'print "$total\\n";\n',
    "bash": "total=0\nread -r -a words\n"
    'for word in "${words[@]}"; do ((total += word * word)); done\necho "$total"\n',
    "r": 'total <- sum(scan(file("stdin"), quiet = TRUE)^2)\ncat(total, "\\n")\n',
    "csharp": """using System;
class Program {
    static void Main() {
        long total = 0;
        foreach (var word in Console.In.ReadToEnd().Trim().Split(' '))
            total += long.Parse(word) * long.Parse(word);
        Console.WriteLine(total);
    }
}
""",
    "haskell": "main :: IO ()\nmain = do\n  text <- getContents\n"
    "  let total = sum [n * n | n <- map read (words text)] :: Int\n  print total\n",
    "ocaml": "let total = ref 0\n"
    'let () = try while true do Scanf.scanf " %d" (fun n -> total := !total + n * n) done\n'
    "  with _ -> print_int !total\n",
    "sql": "SELECT sum(n * n) AS total FROM numbers;\n",
}
"""By the language's name."""

_USUAL: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "c": (("gcc", "{source}", "-o", "program"), ("./program",)),
    "cpp": (("g++", "-std=c++17", "{source}", "-o", "program"), ("./program",)),
    "java": (("javac", "{source}"), ("java", "-cp", ".", "-ea", "{entry}")),
    "javascript": ((), ("node", "{source}")),
    "typescript": (("esbuild", "{source}", "--outfile=program.js"), ("node", "program.js")),
    "go": (("go", "build", "-o", "program", "{source}"), ("./program",)),
    "rust": (("rustc", "-O", "{source}", "-o", "program"), ("./program",)),
    "ruby": ((), ("ruby", "{source}")),
    "php": ((), ("php", "-f", "{source}")),
    "lua": ((), ("lua5.4", "{source}")),
    "perl": ((), ("perl", "{source}")),
    "bash": ((), ("/bin/bash", "{source}")),
    "r": ((), ("Rscript", "{source}")),
    "csharp": (("mcs", "{source}", "-out:program.exe"), ("mono", "program.exe")),
    "haskell": (("ghc", "{source}", "-o", "program"), ("./program",)),
    "ocaml": (("ocamlopt", "{source}", "-o", "program"), ("./program",)),
    "sql": ((), ("sqlite3", ":memory:", ".read /dev/stdin", ".read {source}")),
}
"""The commands that services without a sandbox of their own use: to compile, and to run."""

_new = count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was measured of a language on a backend; times in seconds, the best of the rounds."""

    language: str
    backend: str
    compile_s: float
    """From handing a submission in to its report, less what its cases take."""
    compile_by_hand_s: float
    """The grader's own compiler command, by hand, with what is precompiled."""
    case_s: float
    case_by_hand_s: float
    """The usual command that runs a program, by hand."""
    per_second: float
    """Submissions, each new, with `CASES` cases; median of the rounds."""
    usual_per_second: float
    """The usual way: for each case a temporary folder, the compiler and the program, by a shell."""


def compare(backends: Sequence[SandboxChoice], *, rounds: int, slots: int) -> Iterator[Found]:
    """Measure each language that this machine, or an image, has."""
    for name, program in PROGRAMS.items():
        language = languages.languages()[name]
        if lacking := languages.missing([language]):
            print(f"left out: {name}: there is no {', '.join(lacking)}")
            continue
        by_hand = _ByHand(language, program, slots)
        for backend in backends:
            settings = replace(load_settings().settings, sandbox=backend, slots=slots)
            with Grader(settings) as grader:
                way = _Graded(grader, language.name, program)
                if (fault := way.fault()) is not None:
                    print(f"left out: {name} on {backend}: {fault}")
                    continue
                yield _measure(language.name, backend, way, by_hand, rounds, slots)


def _measure(
    language: str, backend: str, way: "_Graded", by_hand: "_ByHand", rounds: int, slots: int
) -> Found:
    one_case, many_cases, hand_compiles, hand_cases = [], [], list[float](), list[float]()
    rates, usual_rates = [], []
    way.all(2 * slots)  # slots start in this one
    for _ in range(rounds):
        one_case.append(way.one(1))
        many_cases.append(way.one(_MANY))
        compile_s, run_s = by_hand.one()
        hand_compiles.append(compile_s)
        hand_cases.append(run_s)
        rates.append(_rate(way.all, slots))
        usual_rates.append(_rate(by_hand.all, slots))
    case_s = (min(many_cases) - min(one_case)) / (_MANY - 1)
    return Found(
        language=language,
        backend=backend,
        compile_s=min(one_case) - case_s,
        compile_by_hand_s=min(hand_compiles),
        case_s=case_s,
        case_by_hand_s=min(hand_cases),
        per_second=statistics.median(rates),
        usual_per_second=statistics.median(usual_rates),
    )


def _rate(run: Callable[[int], float], slots: int) -> float:
    submissions = 2 * slots
    return submissions / run(submissions)


def _suite(language: str, cases: int) -> TestSuite:
    rows = [[str(each + other) for other in range(10)] for each in range(cases)]
    inputs = [" ".join(row) + "\n" for row in rows]
    if language == "sql":
        inputs = [
            f"CREATE TABLE numbers (n);\nINSERT INTO numbers VALUES ({'), ('.join(row)});\n"
            for row in rows
        ]
    outputs = [str(sum(int(number) ** 2 for number in row)) for row in rows]
    return parse_label({"inputs": inputs, "outputs": outputs, "language": language})


def _renewed(program: str) -> str:
    """Return the program with another name in it, so that no cache knows it."""
    return program.replace("total", f"total{next(_new)}")


class _Graded:
    """The grader."""

    def __init__(self, grader: Grader, language: str, program: str) -> None:
        self._grader, self._program = grader, program
        self._suites = {cases: _suite(language, cases) for cases in (1, CASES, _MANY)}
        self._fence = language

    def fault(self) -> str | None:
        """Return why this way cannot be measured; None if it can."""
        (report,) = (report for _, report in self._grader.as_completed([self._new(1)]))
        return None if report.verdict is Verdict.PASSED else report.feedback

    def one(self, cases: int) -> float:
        return self._timed([self._new(cases)])

    def all(self, submissions: int) -> float:
        return self._timed([self._new(CASES) for _ in range(submissions)])

    def _new(self, cases: int) -> Submission:
        code = _renewed(self._program)
        return Submission(
            id=str(next(_new)),
            completion=f"```{self._fence}\n{code}```\n",
            suite=self._suites[cases],
        )

    def _timed(self, submissions: list[Submission]) -> float:
        started = time.perf_counter()
        verdicts = [report.verdict for _, report in self._grader.as_completed(submissions)]
        elapsed_s = time.perf_counter() - started
        assert verdicts == [Verdict.PASSED] * len(submissions), verdicts
        return elapsed_s


class _ByHand:
    """The same programs without the grader, and without a sandbox."""

    def __init__(self, language: Language, program: str, jobs: int) -> None:
        self._language, self._program, self._jobs = language, program, jobs
        prebuilt = prebuilt_folder(languages.in_image(language.image))
        self._prebuilt = PREBUILT if prebuilt is None else str(prebuilt)
        suite = _suite(language.name, CASES)
        assert isinstance(suite.tests, StdinTests)
        self._cases = suite.tests.cases

    def one(self) -> tuple[float, float]:
        """Return how long the grader's compiler command takes, and the usual one to run a case."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            source = self._write(folder)
            own = commands(self._language, source, memory_bytes=256 * MiB)
            # In the sandbox, /tmp is new for every run.
            environment = {
                name: value.replace("/tmp", str(folder / "tmp"))  # noqa: S108
                for name, value in own.environment.items()
            }
            command = [part.replace(PREBUILT, self._prebuilt) for part in own.compile]
            compile_s = _run(command, folder, environment=environment)[0] if command else 0.0
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            run = self._compile(folder)
            took = [_run(run, folder, case.stdin)[0] for case in self._cases]
        return compile_s, min(took)

    def all(self, submissions: int) -> float:
        started = time.perf_counter()
        with ThreadPoolExecutor(self._jobs) as pool:
            list(pool.map(self._usual, range(submissions)))
        return time.perf_counter() - started

    def _usual(self, _number: int) -> None:
        # Each request of such a service has one input.
        for case in self._cases:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                run = self._compile(folder)
                output = _run(_by_shell(run), folder, case.stdin)[1]
                assert output.strip() == case.expected.strip(), (run, output)

    def _write(self, folder: Path) -> SourceFile:
        source = prepare(self._language, _renewed(self._program))
        (folder / source.path).write_text(source.code)
        return source

    def _compile(self, folder: Path) -> tuple[str, ...]:
        """Compile a new program as usual; return what runs it."""
        source = self._write(folder)
        compiler, run = (
            tuple(
                part.replace("{source}", source.path).replace("{entry}", source.entry)
                for part in command
            )
            for command in _USUAL[self._language.name]
        )
        if compiler:
            _run(_by_shell(compiler), folder)
        return run


def _by_shell(command: Sequence[str]) -> tuple[str, ...]:
    return "/bin/bash", "-c", shlex.join(command)


def _run(
    command: Sequence[str],
    folder: Path,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
) -> tuple[float, str]:
    """Return how long a command takes, and what it prints."""
    started = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": _PATH, **(environment or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return time.perf_counter() - started, done.stdout
