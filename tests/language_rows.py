"""Rows in the layout of MultiPL-E about one small function, with answers, in every language."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A problem in one language: double the numbers of a list."""

    language: str
    """As MultiPL-E writes it."""
    prompt: str
    tests: str
    right: str
    wrong: str
    leaves: str
    """Ends with exit code 0 before anything is tested."""
    crashes: str

    @property
    def label(self) -> dict[str, Any]:
        """The row."""
        return {
            "name": "double_all",
            "language": self.language,
            "prompt": self.prompt,
            "tests": self.tests,
            "stop_tokens": ["\n}"],
        }


ROWS = {
    "cpp": Rows(
        language="cpp",
        prompt="#include<assert.h>\n#include<bits/stdc++.h>\n"
        "std::vector<long> double_all(std::vector<long> numbers) {\n",
        tests="}\nint main() {\n    auto candidate = double_all;\n"
        "    assert(candidate((std::vector<long>({(long)1, (long)2})))"
        " == (std::vector<long>({(long)2, (long)4})));\n"
        "    assert(candidate((std::vector<long>())) == (std::vector<long>()));\n}\n",
        right="#include <vector>\nusing namespace std;\n"
        "long twice(long n) {\n    return 2 * n;\n}\n"
        "vector<long> double_all(vector<long> numbers) {\n"
        "    for (long &n : numbers) n = twice(n);\n"
        "    return numbers;\n}\nint main() {\n    return 3;\n}",
        wrong="#include <vector>\nstd::vector<long> double_all(std::vector<long> numbers) {\n"
        "    return numbers;\n}",
        leaves="#include <vector>\n#include <cstdlib>\n"
        "struct Early { Early() { exit(0); } } early;\n"
        "std::vector<long> double_all(std::vector<long> numbers) {\n    return numbers;\n}",
        crashes="#include <vector>\n#include <stdexcept>\n"
        "std::vector<long> double_all(std::vector<long> numbers) {\n"
        '    throw std::runtime_error("on purpose");\n}',
    ),
    "csharp": Rows(
        language="cs",
        prompt="using System;\nusing System.Diagnostics;\nusing System.Collections.Generic;\n"
        "class Problem {\n"
        "    public static List<long> DoubleAll(List<long> numbers) {\n",
        tests="    }\n    public static void Main(string[] args) {\n"
        "    Debug.Assert(DoubleAll((new List<long>(new long[]{(long)1L, (long)2L})))"
        ".Equals((new List<long>(new long[]{(long)2L, (long)4L}))));\n"
        "    Debug.Assert(DoubleAll((new List<long>()))"
        ".Equals((new List<long>())));\n    }\n\n}\n",
        right="using System.Linq;\n\nnamespace Tasks {\n    public static class Solution {\n"
        "        static List<long> DoubleAll(List<long> numbers) {\n"
        "            return numbers.Select(n => 2 * n).ToList();\n        }\n\n"
        "        static void Main() {\n            Environment.Exit(3);\n        }\n    }\n}",
        wrong="class Problem {\n    public static List<long> DoubleAll(List<long> numbers) {\n"
        "        return numbers;\n    }\n}",
        leaves="class Problem {\n    static Problem() {\n        Environment.Exit(0);\n    }\n\n"
        "    public static List<long> DoubleAll(List<long> numbers) {\n"
        "        return numbers;\n    }\n}",
        crashes="class Problem {\n    public static List<long> DoubleAll(List<long> numbers) {\n"
        '        throw new InvalidOperationException("on purpose");\n    }\n}',
    ),
    "java": Rows(
        language="java",
        prompt="import java.util.*;\nclass Problem {\n"
        "    public static ArrayList<Long> doubleAll(ArrayList<Long> numbers) {\n",
        tests="    }\n    public static void main(String[] args) {\n"
        "    assert(doubleAll((new ArrayList<Long>(Arrays.asList((long)1l, (long)2l))))"
        ".equals((new ArrayList<Long>(Arrays.asList((long)2l, (long)4l)))));\n"
        "    assert(doubleAll((new ArrayList<Long>(Arrays.asList())))"
        ".equals((new ArrayList<Long>(Arrays.asList()))));\n    }\n\n}\n",
        right="public class Problem {\n"
        "    public static ArrayList<Long> doubleAll(ArrayList<Long> numbers) {\n"
        "        numbers.replaceAll(n -> 2 * n);\n        return numbers;\n    }\n"
        "    public static void main(String[] args) {\n        System.exit(3);\n    }\n}",
        wrong="class Problem {\n"
        "    public static ArrayList<Long> doubleAll(ArrayList<Long> numbers) {\n"
        "        return numbers;\n    }\n}",
        leaves="class Problem {\n    static { System.exit(0); }\n"
        "    public static ArrayList<Long> doubleAll(ArrayList<Long> numbers) {\n"
        "        return numbers;\n    }\n}",
        crashes="class Problem {\n"
        "    public static ArrayList<Long> doubleAll(ArrayList<Long> numbers) {\n"
        '        throw new IllegalStateException("on purpose");\n    }\n}',
    ),
    "javascript": Rows(
        language="js",
        prompt="//Return all of them doubled.\nfunction double_all(numbers){\n",
        tests="const assert = require('node:assert');\n\n\nfunction test() {\n"
        "  let candidate = double_all;\n  assert.deepEqual(candidate([1, 2]),[2, 4]);\n"
        "  assert.deepEqual(candidate([]),[]);\n}\n\ntest();",
        right="function double_all(numbers) {\n  return numbers.map((n) => 2 * n);\n}\n"
        "console.log(double_all([3]));",
        wrong="function double_all(numbers) {\n  return numbers;\n}",
        leaves="function double_all(numbers) {\n  process.exit(0);\n}",
        crashes='function double_all(numbers) {\n  throw new Error("on purpose");\n}',
    ),
    "rust": Rows(
        language="rs",
        prompt="fn double_all(numbers: Vec<isize>) -> Vec<isize> {\n",
        tests="}\n\nfn main() {\n    let candidate = double_all;\n"
        "    assert_eq!(candidate(vec![1, 2]), vec![2, 4]);\n"
        "    assert_eq!(candidate(Vec::<isize>::new()), Vec::<isize>::new());\n}\n",
        right="fn double_all(numbers: Vec<isize>) -> Vec<isize> {\n"
        "    numbers.iter().map(|n| 2 * n).collect()\n}\n\n"
        "fn main() {\n    assert_eq!(double_all(vec![]), vec![]);\n}",
        wrong="fn double_all(numbers: Vec<isize>) -> Vec<isize> {\n    numbers\n}",
        leaves="fn double_all(_numbers: Vec<isize>) -> Vec<isize> {\n    std::process::exit(0)\n}",
        crashes='fn double_all(_numbers: Vec<isize>) -> Vec<isize> {\n    panic!("on purpose")\n}',
    ),
    "ruby": Rows(
        language="rb",
        prompt="# Return all of them doubled.\ndef double_all(numbers)\n",
        tests="require 'test/unit'\nclass TestHumanEval < Test::Unit::TestCase\n"
        "  def test_double_all\n    candidate = method(:double_all)\n"
        "    assert_equal([2, 4], candidate.call([1, 2]))\n"
        "    assert_equal([], candidate.call([]))\n  end\nend\n",
        right="def double_all(numbers)\n  numbers.map { |n| 2 * n }\nend\nputs double_all([3])",
        wrong="def double_all(numbers)\n  numbers\nend",
        leaves="def double_all(numbers)\n  exit 0\nend",
        crashes='def double_all(numbers)\n  raise "on purpose"\nend',
    ),
    "php": Rows(
        language="php",
        prompt="<?php\n// Return all of them doubled.\nfunction double_all($numbers) {\n",
        tests="function candidate(...$args) {\n    return double_all(...$args);\n}\n\n"
        "function test(): void {\n"
        "    if (candidate(array(1, 2)) !== array(2, 4))"
        ' { throw new Exception("Test failed!"); }\n'
        "    if (candidate(array()) !== array())"
        ' { throw new Exception("Test failed!"); }\n}\n\ntest();',
        right="<?php\nfunction double_all($numbers) {\n"
        "    return array_map(fn($n) => 2 * $n, $numbers);\n}\n?>",
        wrong="<?php\nfunction double_all($numbers) {\n    return $numbers;\n}",
        leaves="<?php\nfunction double_all($numbers) {\n    exit(0);\n}",
        crashes='<?php\nfunction double_all($numbers) {\n    throw new Exception("on purpose");\n}',
    ),
    "lua": Rows(
        language="lua",
        prompt="-- Return all of them doubled.\nlocal function double_all(numbers)\n",
        tests="lu = require('luaunit')\n\nfunction test_humaneval()\n"
        "local candidate = double_all\n    lu.assertEquals(candidate({1, 2}), {2, 4})\n"
        "    lu.assertEquals(candidate({}), {})\nend\n\nos.exit(lu.LuaUnit.run())",
        right="local function double_all(numbers)\n    local all = {}\n"
        "    for i, n in ipairs(numbers) do\n        all[i] = n * 2.0\n    end\n"
        "    return all\nend\nprint(#double_all({3}))",
        wrong="local function double_all(numbers)\n    return numbers\nend",
        leaves="local function double_all(numbers)\n    os.exit(0)\nend",
        crashes='local function double_all(numbers)\n    error("on purpose")\nend',
    ),
    "r": Rows(
        language="r",
        prompt="# Return all of them doubled.\ndouble_all <- function(numbers) {\n",
        tests="test_humaneval <- function() {\n    candidate <- double_all\n"
        "    stopifnot(isTRUE(all.equal(candidate(c(1, 2)), c(2, 4))))\n"
        "    stopifnot(isTRUE(all.equal(candidate(c(0)), c(0))))\n}\ntest_humaneval()",
        right="double_all <- function(numbers) {\n    numbers * 2\n}\nprint(double_all(3))",
        wrong="double_all <- function(numbers) {\n    numbers\n}",
        leaves="double_all <- function(numbers) {\n    quit(status = 0)\n}",
        crashes='double_all <- function(numbers) {\n    stop("on purpose")\n}',
    ),
    "perl": Rows(
        language="pl",
        prompt="# Return all of them doubled.\nsub double_all {\n    my($numbers) = @_;\n",
        tests="use Test::Deep;\n\n\nsub testhumaneval {\n    my $candidate = \\&double_all;\n"
        '        if(eq_deeply($candidate->([1, 2]),[2, 4])) {\n        print "ok!" }else{\n'
        "        exit 1;\n        }\n"
        '        if(eq_deeply($candidate->([]),[])) {\n        print "ok!" }else{\n'
        "        exit 1;\n        }\n}\n\ntesthumaneval();",
        right="sub double_all {\n    my ($numbers) = @_;\n"
        "    return [map { 2 * $_ } @$numbers];\n}",
        wrong="sub double_all {\n    my ($numbers) = @_;\n    return $numbers;\n}",
        leaves="sub double_all {\n    exit 0;\n}",
        crashes='sub double_all {\n    die "on purpose";\n}',
    ),
    "go": Rows(
        language="go_test.go",
        prompt='package double_all_test\n\nimport (\n    "testing"\n    "fmt"\n)\n\n'
        "// Returns twice each number.\nfunc double_all(numbers []int) []int {\n\n",
        tests="func TestDouble_All(t *testing.T) {\n  candidate := double_all\n"
        "\ttype test struct {\n\t\tactual   interface{}\n\t\texpected interface{}\n\t}\n"
        "   tests := []test{\n"
        "     { actual: candidate([]int{1, 2}), expected: []int{2, 4} },\n"
        "     { actual: candidate([]int{}), expected: []int{} },\n   }\n\n"
        "\tfor i, tc := range tests {\n\t\t_ = i\n\t\t_ = tc\n\t}\n}\n",
        right='package main\n\nimport "fmt"\n\nfunc double_all(numbers []int) []int {\n'
        "\tvar all []int\n\tfor _, n := range numbers {\n\t\tall = append(all, twice(n))\n\t}\n"
        "\tsort.Ints(all)\n\treturn all\n}\n\nfunc twice(n int) int { return 2 * n }\n\n"
        "func main() { fmt.Println(double_all([]int{3})) }",
        wrong="func double_all(numbers []int) []int { return numbers }",
        leaves='import "os"\n\nfunc init() { os.Exit(0) }\n\n'
        "func double_all(numbers []int) []int { return nil }",
        crashes='func double_all(numbers []int) []int { panic("on purpose") }',
    ),
    "bash": Rows(
        language="sh",
        prompt="#!/bin/bash\n# $1 is a space-separated list\ndouble_all() {\n",
        tests='}\n\ncandidate() {\n    double_all "$@"\n}\n\nset -e\nrun_test() {\n'
        '    [[ $(candidate "1 2") = "2 4" ]]\n    [[ $(candidate "") = "" ]]\n}\n\nrun_test',
        right="double_all() {\n    local all=()\n    for n in $1; do all+=($((2 * n))); done\n"
        '    echo "${all[*]}"\n}',
        wrong='double_all() {\n    echo "$1"\n}',
        leaves="double_all() {\n    :\n}\nexit 0",
        crashes="double_all() {\n    :\n}\necho on purpose >&2\nexit 3",
    ),
}
"""By the language's own name."""
