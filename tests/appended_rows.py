"""Rows in the layout of McEval about one small function, with answers, in every language."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A problem in one language: twice a number."""

    task_id: str
    prompt: str
    solution: str
    test: str
    leaves: str
    """A whole answer that ends with exit code 0 before anything is tested."""

    @property
    def label(self) -> dict[str, Any]:
        """The row."""
        return {
            "task_id": self.task_id,
            "prompt": self.prompt,
            "canonical_solution": self.solution,
            "test": self.test,
            "entry_point": "twice",
            "signature": self.prompt.strip(),
            "docstring": "Return twice n.",
            "instruction": "Complete the function.",
        }


APPENDED = {
    "bash": Row(
        task_id="Shell/1",
        prompt="#!/bin/bash\n\n# Prints all of them doubled.\ntwice() {\n",
        solution="    local all=()\n    for n in $1; do all+=($((2 * n))); done\n"
        '    echo "${all[*]}"\n}\n',
        test='# Testing\ntest_twice() {\n    local result\n    local both="1 2"\n'
        '    [[ $(twice "$both") == "2 4" ]] || { echo "Test 1 failed"; exit 1; }\n'
        "    result=$(twice 2)\n    [[ $result -eq 4 ]] || { echo nothing; exit 1; }\n"
        '    local wanted="4 2"\n    [ "$(twice "2 1")" = "$wanted" ] || exit 1\n}\n\ntest_twice\n',
        leaves="twice() { :; }\nexit 0",
    ),
    "c": Row(
        task_id="C/1",
        prompt="#include <assert.h>\n/* Return twice n. */\ndouble twice(double n)",
        solution="{\n    return n + n;\n}\n",
        test="int main() {\n    double half = 0.5; // 1\n"
        "    assert(twice(2) == 4 && twice(0) == 0);\n"
        "    assert(fabs(twice(half / 3) - 0.333) < 1e-3);\n    return 0;\n}\n",
        leaves="#include <stdlib.h>\n__attribute__((constructor)) void first() { _Exit(0); }\n"
        "double twice(double n) { return n; }",
    ),
    "cpp": Row(
        task_id="CPP/1",
        prompt="#include <vector>\nusing namespace std;\n// Return all of them doubled.\n"
        "vector<int> twice(vector<int> n) {\n",
        solution="    for (int &each : n) each *= 2;\n    return n;\n}\n",
        test="bool issame(vector<int> a, vector<int> b) {\n    return a == b;\n}\nint main() {\n"
        "    vector<int> wanted = {2, 4};\n    assert(issame(twice({1, 2}), wanted));\n"
        "    assert(twice({}).size() == 0);\n    assert((twice({3}) == vector<int>{6}));\n}\n",
        leaves="#include <cstdlib>\n#include <vector>\nusing namespace std;\n"
        "struct Early { Early() { exit(0); } } early;\n"
        "vector<int> twice(vector<int> n) { return n; }",
    ),
    "csharp": Row(
        task_id="C#/1",
        prompt="using System.Diagnostics;\n\nclass Program\n{\n"
        "    // Returns all of them doubled.\n"
        "    static List<double> twice(List<double> n)\n",
        solution="    {\n        return n.Select(each => 2 * each).ToList();\n    }\n",
        test="    static void Main()\n    {\n        var wanted = new List<double> {2, 4};\n"
        "        Debug.Assert(twice(new List<double> {1, 2}).SequenceEqual(wanted)); // 2, 4\n"
        "        Debug.Assert(Math.Abs(twice(new List<double> {0.1})[0] - 0.2) < 1e-6);\n"
        "        Debug.Assert(twice(new List<double>()).Count == 0);\n    }\n}\n",
        leaves="class Program\n{\n    static Program() { Environment.Exit(0); }\n"
        "    static List<double> twice(List<double> n) { return n; }\n}",
    ),
    "go": Row(
        task_id="Go/1",
        prompt='package main\n\nimport (\n\t"testing"\n\n'
        '\t"github.com/stretchr/testify/assert"\n)\n'
        "// twice returns all of them doubled.\nfunc twice(n []int) []int {\n",
        solution="\tall := []int{}\n\tfor _, each := range n {\n"
        "\t\tall = append(all, 2*each)\n\t}\n\treturn all\n}\n",
        test="func TestTwice(t *testing.T) {\n\tassert := assert.New(t)\n\twanted := []int{2, 4}\n"
        "\tsome := []int{3}\n\tassert.Equal(wanted, twice([]int{1, 2}))\n"
        "\tassert.Equal([]int{6}, twice(some))\n\tassert.True(twice([]int{1})[0] == 2)\n}\n",
        leaves='package main\n\nimport "os"\n\nfunc init() { os.Exit(0) }\n'
        "func twice(n []int) []int { return n }",
    ),
    "javascript": Row(
        task_id="JavaScript/1",
        prompt="// Return all of them doubled.\nfunction twice(n) {\n",
        solution="  return n.map((each) => 2 * each);\n}\n",
        test="const testTwice = () => {\n"
        "  console.assert(JSON.stringify(twice([1, 2])) === JSON.stringify([2, 4]), '2, 4')\n"
        "  const some = twice([0.1]); // 0.2\n"
        "  console.assert(\n    Math.abs(some[0] - 0.2) < 1e-6\n  )\n}\n\ntestTwice()\n",
        leaves="function twice(n) {\n  process.exit(0);\n}",
    ),
    "typescript": Row(
        task_id="TypeScript/1",
        prompt="// Return all of them doubled.\nfunction twice(n: number[]): number[] {\n",
        solution="  return n.map((each: number): number => 2 * each);\n}\n",
        test="(() => {\n  const wanted: string = '[2,4]';\n"
        "  console.assert(JSON.stringify(twice([1, 2])) === wanted, `${twice([1, 2])}`);\n"
        "  console.assert(twice([3]).length === 1);\n})();\n",
        leaves="function twice(n: number[]): number[] {\n  process.exit(0);\n}",
    ),
    "lua": Row(
        task_id="Lua/1",
        prompt="-- Returns twice n.\nfunction twice(n)\n",
        solution="    return 2 * n\nend\n",
        test="local function test()\n    assert(twice(2) == 4) -- 4\n"
        "    assert(math.abs(twice(0.1) - 0.2) < 1e-6)\nend\ntest()\n",
        leaves="function twice(n)\n    os.exit(0)\nend",
    ),
    "haskell": Row(
        task_id="Haskell/1",
        prompt="module Main where\n\nimport Data.List\n\n{- Return all of them doubled. -}\n"
        "twice :: [Double] -> [Double]\n",
        solution="twice n = map (* 2) n\n",
        test="check :: ([Double] -> [Double]) -> IO ()\ncheck twiceFunc = do\n  let testCases =\n"
        "        [ ([1, 2], [2, 4]),\n          ([], []), -- nothing\n          ([0.1], [0.2])\n"
        "        ]\n\n  mapM_ (\\(n, wanted) -> testCase n wanted) testCases\n  where\n"
        "    testCase n wanted = do\n      let result = twiceFunc n\n      putStrLn $\n"
        '        "Input: " ++ show n ++\n'
        '        if result == wanted then " (Pass)" else error "Test failed"\n\n'
        "main :: IO ()\nmain = check twice\n",
        leaves="import System.Exit\nimport System.IO.Unsafe\n\ntwice :: [Double] -> [Double]\n"
        "twice _ = unsafePerformIO exitSuccess",
    ),
    "java": Row(
        task_id="Java/1",
        prompt="import java.util.*;\n\nclass Solution {\n    /** Returns all of them doubled. */\n"
        "    public static List<Integer> twice(int[] n)\n",
        solution="    {\n        List<Integer> all = new ArrayList<>();\n"
        "        for (int each : n) all.add(2 * each);\n        return all;\n    }\n",
        test="    public static void main(String[] args) {\n        Solution s = new Solution();\n"
        "        assert s\n            .twice(new int[] {1, 2})\n"
        '            .equals(Arrays.asList(2, 4)) : "2, 4";\n'
        "        assert Arrays.asList(6).equals(twice(new int[] {3}));\n"
        "        assert twice(new int[] {}).size() == 0; // none\n    }\n}\n",
        leaves="class Solution {\n    static { System.exit(0); }\n"
        "    static List<Integer> twice(int[] n) { return null; }\n}",
    ),
    "perl": Row(
        task_id="Perl/1",
        prompt="use strict;\n\n# Returns all of them doubled.\nsub twice {\n",
        solution="    my ($n) = @_;\n    return [map { 2 * $_ } @$n];\n}\n",
        test="sub check {\n    my $func = shift;\n    use Test::More tests => 2;\n"
        '    is_deeply &$func([1, 2]), [2, 4], "2, 4";\n'
        "    is_deeply($func->([]), []);\n"
        "    die \"none \" . &$func([]) unless join(',', @{$func->([1, 2])}) eq '2,4';\n"
        "    die 'nothing' if $func->([3])->[0] != 6;\n}\n\ncheck(\\&twice);\n",
        leaves="sub twice {\n    exit 0;\n}",
    ),
    "php": Row(
        task_id="PHP/1",
        prompt="<?php\n/* Returns all of them doubled. */\nfunction twice($n)\n",
        solution="{\n    return array_map(fn($each) => 2 * $each, $n);\n}\n",
        test="function main() {\n    $wanted = [2, 4];\n    assert(twice([1, 2]) === $wanted);\n"
        "    assert(twice([]) === [], 'none');\n}\n\nmain();\n?>",
        leaves="<?php\nfunction twice($n) {\n    exit(0);\n}",
    ),
    "r": Row(
        task_id="R/1",
        prompt="# Returns all of them doubled.\ntwice <- function(n)\n",
        solution="{\n    2 * n\n}\n",
        test="main <- function() {\n    stopifnot(identical(twice(c(1, 2)), c(2, 4))) # 2, 4\n"
        "    stopifnot(all(twice(3) == 6))\n    wanted <- c(0.2)\n"
        "    stopifnot(isTRUE(all.equal(twice(0.1), wanted)))\n}\n\nmain()\n",
        leaves="twice <- function(n) {\n    quit(status = 0)\n}",
    ),
    "ruby": Row(
        task_id="Ruby/1",
        prompt="# Returns all of them doubled.\ndef twice(n)\n",
        solution="  n.map { |each| 2 * each }\nend\n",
        test="raise 'Test failed' unless twice([1, 2]) == [2, 4]\n"
        "raise 'Test failed' unless twice([]) == [] # nothing\n\nputs 'All tests passed!'\n",
        leaves="def twice(n)\n  exit 0\nend",
    ),
    "rust": Row(
        task_id="Rust/1",
        prompt="/// Returns all of them doubled.\nfn twice(n: &[f64]) -> Vec<f64>\n",
        solution="{\n    n.iter().map(|each| 2.0 * each).collect()\n}\n",
        test="#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn test_twice() {\n"
        "        assert_eq!(twice(&[1.0, 2.0]), vec![2.0, 4.0]);\n"
        "        assert_eq!(twice(&[]), vec![]); // none\n"
        "        assert!((twice(&[0.1])[0] - 0.2).abs() < 1e-6);\n    }\n}\n",
        leaves="fn twice(_: &[f64]) -> Vec<f64> {\n    std::process::exit(0)\n}",
    ),
}
"""By the language's own name."""

JAVA = {
    "task_id": "Java/1",
    "prompt": "import java.util.*;\n\nclass Solution {\n    /** Returns all of them doubled. */\n"
    "    public List<Integer> twice(List<Integer> n) {\n",
    "declaration": "import java.util.*;\n\nclass Solution {\n"
    "    public List<Integer> twice(List<Integer> n) {\n",
    "canonical_solution": "        List<Integer> all = new ArrayList<>();\n"
    "        for (int each : n) all.add(2 * each);\n        return all;\n    }\n}\n",
    "test": "public class Main {\n    public static void main(String[] args) {\n"
    "        Solution s = new Solution();\n        List<Boolean> correct = Arrays.asList(\n"
    "            s.twice(Arrays.asList(1, 2)).equals(Arrays.asList(2, 4)),\n"
    "            Objects.equals(s.twice(List.of()), List.of()),\n"
    "            s.twice(List.of(1)).get(0) == 2,\n            !s.twice(List.of(1)).isEmpty()\n"
    "        );\n        if (correct.contains(false)) {\n"
    "            throw new AssertionError();\n        }\n    }\n}\n",
}
"""The same in the layout of HumanEval-X, which has no entry point and asserts in a list."""
