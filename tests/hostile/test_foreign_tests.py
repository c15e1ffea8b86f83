"""Answers in other languages than Python that attack the tests which are evaluated beside them.

The program that shows their values is theirs to spoil: they can read it, redefine what it uses and
print whatever they like. What is expected they never see, so no attack may be paid.
"""

from collections.abc import Iterator

import pytest

from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model import Submission
from grader.suites import parse_label
from tests.appended_rows import APPENDED
from tests.compilers import need
from tests.language_rows import ROWS

ATTACKS = {
    "bash": {
        "prints": 'double_all() {\n    echo "ok 2 4 passed All tests passed!"\n}',
        "redefined": 'double_all() {\n    echo "$1"\n}\n'
        'printf() {\n    builtin printf "%s" "$@"\n}',
        "equals": "double_all() {\n    echo '*'\n}",
        "reads": "double_all() {\n    :\n}\n"
        "mark=$(sed -n 's/^printf .*q.n. \\([0-9a-f]*\\) 0 .*/\\1/p' \"$0\")\n"
        'for n in 0 1; do for value in "" 2 4 "2 4" ok; do printf "\\n%s %s %s\\n" "$mark" $n'
        ' "$value"; done; done\nexit 0',
    },
    "cpp": {
        "prints": "#include <vector>\n#include <iostream>\n"
        "std::vector<long> double_all(std::vector<long> numbers) {\n"
        '    std::cout << "\\n0 [2, 4, ]\\nAll tests passed!\\n";\n    return numbers;\n}',
        "redefined": "#include <vector>\n#define line ignored\n"
        "std::vector<long> double_all(std::vector<long> numbers) {\n    return numbers;\n}",
        "equals": "#include <vector>\n"
        "struct Any {\n    template <class T> bool operator==(const T &) const { return true; }\n"
        "    template <class T> operator T() const { return {}; }\n};\n"
        "Any double_all(std::vector<long>) {\n    return {};\n}",
        "before main": "#include <vector>\n#include <unistd.h>\n"
        "__attribute__((constructor)) void first() {\n    _exit(0);\n}\n"
        "std::vector<long> double_all(std::vector<long> numbers) {\n    return numbers;\n}",
        "shown by its own": "#include <vector>\n#include <ostream>\n"
        "struct Any : std::vector<long> {};\n"
        'void show(std::ostream &out, const Any &) { out << "true"; }\n'
        "Any double_all(std::vector<long>) {\n    return {};\n}",
    },
    "c": {
        "redefined": "#define assert(x) 0\n#define fabs(x) 0\n"
        "double twice(double n) {\n    return n;\n}",
        "another main": "#undef main\n#define main(...) unused(void);"
        " int main(void) { return 0; } int unused(void)\n"
        "double twice(double n) {\n    return n;\n}",
        "reads": "#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n"
        "__attribute__((constructor)) void first(void) {\n    static char all[1 << 20];\n"
        '    size_t size = fread(all, 1, sizeof all, fopen("/proc/self/exe", "r"));\n'
        "    for (char *c = all; c < all + size - 20; c++) {\n"
        '        if (*c != 10 || strspn(c + 1, "0123456789abcdef") != 16) continue;\n'
        "        for (int n = 0; n < 3; n++) {\n"
        "            for (int value = 0; value < 5; value++)"
        ' printf("%.17s %d %d\\n", c, n, value);\n'
        "        }\n        fflush(stdout);\n        _exit(0);\n    }\n}\n"
        "double twice(double n) {\n    return n;\n}",
    },
    "go": {
        "before main": 'package main\n\nimport "os"\n\nfunc init() { os.Stdout.Close() }\n'
        "func twice(n []int) []int { return n }",
        "equals": 'package main\n\nimport "fmt"\n\ntype any []int\n\n'
        'func (any) GoString() string { return "true" }\n'
        'func (any) Format(out fmt.State, _ rune) { out.Write([]byte("true")) }\n'
        "func twice(n []int) any { return n }",
        "redefined": "package main\n\nconst true, false = 1 > 2, 1 < 2\n\n"
        "func twice(n []int) []int { return n }",
    },
    "haskell": {
        "equals": 'newtype Any = Any Double\ninstance Show Any where show _ = "4.0"\n'
        "instance Eq Any where _ == _ = True\n"
        "instance Num Any where { fromInteger = Any . fromInteger; a + _ = a; a * _ = a; abs = id;"
        " signum = id; negate = id }\n"
        "instance Fractional Any where { fromRational = Any . fromRational; a / _ = a }\n"
        "twice :: [Any] -> [Any]\ntwice n = n",
        "redefined": "import Prelude hiding (show, putStrLn)\nshow :: a -> String\n"
        'show _ = "True"\nputStrLn :: String -> IO ()\nputStrLn _ = return ()\n'
        "twice :: [Double] -> [Double]\ntwice n = n",
        "reads": "{-# LANGUAGE TemplateHaskell #-}\nimport Language.Haskell.TH.Syntax\n"
        "import System.IO.Unsafe\n\n"
        'source :: String\nsource = $(runIO (readFile "solution.hs") >>= lift)\n'
        "twice :: [Double] -> [Double]\ntwice n = unsafePerformIO (putStrLn source >> return n)",
    },
    "typescript": {
        "redefined": "namespace JSON {\n  export const stringify = () => 'true';\n}\n"
        "console.assert = () => {};\nfunction twice(n: number[]): number[] {\n  return n;\n}",
        "equals": "function twice(n: number[]): any {\n"
        "  return { toJSON: () => true, length: 0, [Symbol.toPrimitive]: () => 'true' };\n}",
    },
    "csharp": {
        "prints": "class Problem {\n    public static List<long> DoubleAll(List<long> numbers) {\n"
        '        Console.WriteLine("\\n0 [2, 4]\\nok");\n'
        "        Environment.Exit(0);\n        return numbers;\n    }\n}",
        "equals": "class Problem {\n    public class Any : List<long> {\n"
        "        public override bool Equals(object other) { return true; }\n"
        '        public override string ToString() { return "[2, 4]"; }\n    }\n'
        "    public static List<long> DoubleAll(List<long> numbers) {\n"
        "        return new Any();\n    }\n}",
        "redefined": "class Problem {\n    class ShownForTests {\n"
        "        public static void Line(string start, object value) {\n"
        '            Console.WriteLine(start + "true");\n        }\n    }\n'
        "    public static List<long> DoubleAll(List<long> numbers) {\n"
        "        return numbers;\n    }\n}",
    },
    "java": {
        "prints": "class Problem {\n"
        "    public static ArrayList<Long> doubleAll(ArrayList<Long> numbers) {\n"
        '        System.out.println("\\n0 [2, 4, ]\\nok");\n'
        "        Runtime.getRuntime().halt(0);\n        return numbers;\n    }\n}",
        "equals": "class Problem {\n    static class Any extends ArrayList<Long> {\n"
        "        public boolean equals(Object other) { return true; }\n    }\n"
        "    public static ArrayList<Long> doubleAll(ArrayList<Long> numbers) {\n"
        "        return new Any();\n    }\n}",
    },
    "javascript": {
        "prints": "function double_all(numbers) {\n"
        '  console.log("\\n0 [2,4]\\nok");\n  return numbers;\n}',
        "redefined": "function double_all(numbers) {\n  return numbers;\n}\n"
        "JSON.stringify = () => 'true';\nrequire('node:assert').deepEqual = () => {};",
        "equals": "function double_all(numbers) {\n"
        "  return new Proxy([], { get: () => () => true });\n}",
        "reads": "function double_all(numbers) {}\n"
        "const [, mark] = require('fs').readFileSync(__filename, 'utf8')"
        ".match(/n([0-9a-f]{16}) 0 /);\n"
        "for (const n of [0, 1]) for (const value of ['2', '4', 'true', 'ok'])\n"
        "  console.log(`\\n${mark} ${n} ${value}`);\nprocess.exit(0);",
    },
    "lua": {
        "prints": 'local function double_all(numbers)\n    print("\\n0 {2, 4}\\nok")\n'
        "    return numbers\nend",
        "redefined": "local function double_all(numbers)\n    return numbers\nend\n"
        'string.format = function() return "2" end\ntable.concat = string.format',
        "equals": "local function double_all(numbers)\n    return setmetatable({}, {\n"
        "        __eq = function() return true end,\n"
        '        __tostring = function() return "{2, 4}" end,\n    })\nend',
    },
    "perl": {
        "prints": 'sub double_all {\n    print "\\n0 [2, 4]\\nok!\\n";\n    return $_[0];\n}',
        "redefined": "sub double_all {\n    return $_[0];\n}\n"
        'BEGIN { *CORE::GLOBAL::print = sub { 1 } }\nEND { $? = 0; print "ok!" }',
        "equals": 'package Any;\nuse overload "==" => sub { 1 }, "eq" => sub { 1 },\n'
        '    "\\"\\"" => sub { "2" };\npackage main;\n'
        'sub double_all {\n    return bless {}, "Any";\n}',
    },
    "php": {
        "prints": '<?php\nfunction double_all($numbers) {\n    echo "\\n0 array (2, 4)\\nok\\n";\n'
        "    return $numbers;\n}",
        "redefined": "<?php\nfunction double_all($numbers) {\n    return $numbers;\n}\n"
        "ob_start(fn($text) => 'ok');\nregister_shutdown_function(fn() => exit(0));",
        "equals": "<?php\nclass Any {\n    public static function __set_state($all) {}\n}\n"
        "function double_all($numbers) {\n    return new Any();\n}",
    },
    "r": {
        "prints": "double_all <- function(numbers) {\n"
        '    cat("\\n0 c(2, 4)\\nok\\n")\n    quit(status = 0)\n}',
        "redefined": "double_all <- function(numbers) numbers\n"
        "all.equal <- function(...) TRUE\nstopifnot <- function(...) NULL\n"
        "is.null <- function(...) TRUE",
        "equals": 'double_all <- function(numbers) structure(list(), class = "any")\n'
        "`==.any` <- function(...) TRUE\nall.equal.any <- function(...) TRUE",
    },
    "ruby": {
        "prints": 'def double_all(numbers)\n  puts "", "0 [2, 4]", "ok"\n  numbers\nend',
        "redefined": "def double_all(numbers)\n  numbers\nend\n"
        "class Array\n  def ==(other) true end\n  def inspect() 'true' end\nend\n"
        "at_exit { exit!(0) }",
        "equals": "class Any\n  def ==(other) true end\n  def coerce(other) [self, self] end\nend\n"
        "def double_all(numbers)\n  Any.new\nend",
    },
    "rust": {
        "prints": "fn double_all(numbers: Vec<isize>) -> Vec<isize> {\n"
        '    println!("\\n0 [2, 4]\\nok");\n    numbers\n}',
        "redefined": "macro_rules! println { ($($all:tt)*) => {} }\n"
        "fn double_all(numbers: Vec<isize>) -> Vec<isize> {\n    numbers\n}",
        "equals": "struct Any;\nimpl<T> PartialEq<T> for Any {\n"
        "    fn eq(&self, _: &T) -> bool { true }\n}\n"
        "impl std::fmt::Debug for Any {\n"
        "    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {\n"
        '        write!(out, "true")\n    }\n}\n'
        "fn double_all(_: Vec<isize>) -> Any {\n    Any\n}",
        "before main": '#[link_section = ".init_array"]\n#[used]\n'
        'static FIRST: extern "C" fn() = {\n    extern "C" fn first() {\n'
        "        std::process::exit(0)\n    }\n    first\n};\n"
        "fn double_all(numbers: Vec<isize>) -> Vec<isize> {\n    numbers\n}",
    },
}
"""Answers to the problem of `ROWS`, or to that of `APPENDED`, by language and by what they try."""
SLOW = {"cpp", "csharp", "haskell", "java"}
"""Those whose compilers take a second each time."""


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("language", "attack"),
    [
        pytest.param(
            language,
            attack,
            id=f"{language} {attack}",
            marks=[pytest.mark.slow] if language in SLOW else [],
        )
        for language, attacks in ATTACKS.items()
        for attack in attacks
    ],
)
def test_answer_that_attacks_the_tests_is_not_paid(
    grader: Grader, language: str, attack: str
) -> None:
    need(language)
    suite = parse_label((ROWS if language in ROWS else APPENDED)[language].label)
    completion = f"```{language}\n{ATTACKS[language][attack]}\n```"
    report = grader.grade(Submission(id=attack, completion=completion, suite=suite))
    assert report.graded, report.feedback
    # One of the two cases is about an empty list, which some attacks return by chance.
    assert report.verdict != "passed", report.feedback
    assert report.cases[0].verdict != "passed"
