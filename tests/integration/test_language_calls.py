"""Calls of functions with plain data, in the languages that have a driver for them."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from grader import languages
from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model import GradeReport, Submission
from grader.model.verdict import Integrity
from grader.suites import parse_label
from tests.conftest import missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Functions in one language."""

    pick: str
    """Returns [words, [table, [counts, [letters, truth]]]], its parameters."""
    add: str
    """Returns the sum of two numbers, but ends with exit code 0 if the first is 0. It also prints
    something, and brings along a main program or is a method of the class `Solution`."""
    last: str
    """Returns the last of some numbers, and fails if there is none."""


ANSWERS = {
    "cpp": Answers(
        pick="auto pickAll(vector<string> &words, const vector<vector<double>> &table,\n"
        "    map<string, long long> counts, vector<char> letters, bool truth) {\n"
        "  auto rest = make_pair(counts, make_pair(letters, truth));\n"
        "  return make_pair(words, make_pair(table, rest));\n}",
        add="class Solution {\npublic:\n"
        "    long long add(int a, long long b) const {\n"
        '        cout << "adding";\n        if (!a) exit(0);\n        return a + b;\n    }\n};\n'
        "int main() { return 3; }",
        last="int last(const vector<int>& all) { return all.at(all.size() - 1); }",
    ),
    "java": Answers(
        pick="class Solution {\n"
        "    List<Object> pickAll(List<String> words, double[][] table,\n"
        "            Map<String, Long> counts, char[] letters, boolean truth) {\n"
        "        return List.of(words, List.of(table, List.of(counts,\n"
        "            Arrays.asList(letters, truth))));\n    }\n}",
        add="import java.util.*;\n\npublic class Solution {\n"
        "    public static long add(int a, Long b) {\n"
        '        System.out.print("adding");\n        if (a == 0) System.exit(0);\n'
        "        return a + b;\n    }\n"
        "    public static void main(String[] args) { System.exit(3); }\n}",
        last="int last(List<Integer> all) { return all.get(all.size() - 1); }",
    ),
    "javascript": Answers(
        pick="const pickAll = (words, table, counts, letters, truth) =>\n"
        "  [words, [table, [new Map(Object.entries(counts)), [new Set(letters), truth]]]];",
        add='class Solution {\n  async add(a, b) {\n    process.stdout.write("adding");\n'
        "    if (!a) process.exit(0);\n"
        "    return BigInt(a) + BigInt(b);\n  }\n}",
        last='function last(all) {\n  if (!all.length) throw new RangeError("none");\n'
        "  return all[all.length - 1];\n}",
    ),
    "typescript": Answers(
        pick="function pickAll(words: string[], table: number[][], \n"
        "    counts: Record<string, number>, letters: string[], truth: boolean): unknown[] {\n"
        "  return [words, [table, [counts, [letters, truth]]]];\n}",
        add="class Solution {\n  add(a: number, b: number): number {\n"
        "    if (!a) process.exit(0);\n    return a + b;\n  }\n}",
        last='function last(all: number[]): number {\n  if (!all.length) throw new Error("none");\n'
        "  return all[all.length - 1];\n}",
    ),
    "go": Answers(
        pick="type Any = interface{}\n\n"
        "func pickAll(words []string, table [][]float64, counts map[string]int,\n"
        "\tletters []byte, truth bool) []Any {\n"
        "\treturn []Any{words, []Any{table, []Any{counts, []Any{letters, truth}}}}\n}",
        add='package main\n\nimport (\n\t"fmt"\n\t"os"\n)\n\n'
        'func add(a int, b int64) int64 {\n\tfmt.Print("adding")\n'
        "\tif a == 0 {\n\t\tos.Exit(0)\n\t}\n\treturn int64(a) + b\n}\n\n"
        "func main() { panic(3) }",
        last="func last(all []int) int {\n\treturn all[len(all)-1]\n}",
    ),
    "rust": Answers(
        pick="use std::collections::HashMap;\n"
        "type Rest = (HashMap<String, i64>, (Vec<char>, bool));\n"
        "fn pick_all(words: Vec<String>, table: &[Vec<f64>], counts: HashMap<String, i64>,\n"
        "    letters: &mut Vec<char>, truth: bool) -> (Vec<String>, (Vec<Vec<f64>>, Rest)) {\n"
        "    (words, (table.to_vec(), (counts, (letters.clone(), truth))))\n}",
        add='impl Solution {\n    pub fn add(a: i32, b: i64) -> i64 {\n        print!("adding");\n'
        "        if a == 0 {\n            std::process::exit(0);\n        }\n"
        "        i64::from(a) + b\n    }\n}\n\nfn main() { std::process::exit(3) }",
        last="fn last(all: Vec<i32>) -> i32 {\n    all[all.len() - 1]\n}",
    ),
}
WORDS = ["", 'a "quoted" \\ word', "two\nlines\tand \x01", "é€😀", "],[}{:", "null"]
PICKED = [
    [WORDS, [[0.1, -2.5e300], [], [3]], {"one": 1, "": -(2**40)}, ["a", '"', "\\", "\n"], True],
    [[], [], {}, [], False],
]


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as opened:
        yield opened


def grade(
    grader: Grader, language: str, code: str, name: str, inputs: list[object], outputs: list[object]
) -> GradeReport:
    found = languages.find(language)
    assert found is not None
    if lacking := languages.missing([found]):
        missing(language, f"there is no {', '.join(lacking)}")
    label = {"fn_name": name, "inputs": inputs, "outputs": outputs, "language": language}
    completion = f"```{language}\n{code}\n```"
    return grader.grade(Submission(id="call", completion=completion, suite=parse_label(label)))


def test_every_language_that_calls_functions_is_tried() -> None:
    assert {each.name for each in languages.languages().values() if each.call} == {
        *ANSWERS,
        "cpp20",
    }


@pytest.mark.parametrize("language", ANSWERS)
def test_values_of_every_kind_arrive_and_come_back(grader: Grader, language: str) -> None:
    outputs = [
        [words, [table, [counts, [letters, truth]]]]
        for words, table, counts, letters, truth in PICKED
    ]
    report = grade(grader, language, ANSWERS[language].pick, "pickAll", [*PICKED], [*outputs])
    assert report.verdict == "passed", report.feedback
    assert report.integrity is Integrity.ISOLATED


@pytest.mark.parametrize("language", ANSWERS)
def test_each_case_is_judged_by_its_own_value(grader: Grader, language: str) -> None:
    inputs: list[object] = [[1, 2], [-1, 5], [0, 1], [1, 2**40]]
    report = grade(grader, language, ANSWERS[language].add, "add", inputs, [3, 5, 1, 2**40 + 1])
    assert [case.verdict for case in report.cases] == [
        "passed",
        "failed",
        "runtime_error",
        "passed",
    ]
    assert "4" in report.cases[1].feedback
    assert "before the call returned" in report.cases[2].feedback


@pytest.mark.parametrize("language", ANSWERS)
def test_function_that_fails_or_takes_other_arguments_has_a_runtime_error(
    grader: Grader, language: str
) -> None:
    inputs: list[object] = [[[7]], [[]]]
    if language not in ("javascript", "typescript"):  # whose parameters have no types
        inputs += [[["word"]], [[1], 2]]
    outputs: list[object] = [7] * len(inputs)
    report = grade(grader, language, ANSWERS[language].last, "last", inputs, outputs)
    wanted = ["passed", *["runtime_error"] * (len(inputs) - 1)]
    assert [case.verdict for case in report.cases] == wanted


NOISY = {
    "cpp": """
struct Dots : numpunct<char> {
    char do_thousands_sep() const { return '.'; }
    string do_grouping() const { return "\\1"; }
};
class Solution {
    int twice(int number, int times) const { return number * times; }
public:
    static ostringstream kept;
    int twice(int number) {
        locale::global(locale(locale(), new Dots));
        cout.imbue(locale());
        cout << hex << showbase << number;
        cout.setstate(ios::failbit);
        cout.rdbuf(kept.rdbuf());
        return twice(number, 2);
    }
};
ostringstream Solution::kept;
""",
    "java": """
class Solution {
    private List<Integer> twice(List<Integer> numbers) { return numbers; }
    private int twice(int number, int times) { return number * times; }
    public int twice(int number) {
        System.setOut(new java.io.PrintStream(new java.io.ByteArrayOutputStream()));
        return twice(number, 2);
    }
    private String twice(String text) { return text; }
}
""",
    "javascript": "console.log = () => {};\nfunction twice(number) { return number * 2; }",
}
"""Functions with others of their name beside them, that change how the program prints."""


@pytest.mark.parametrize("language", NOISY)
def test_overloads_and_changed_streams_do_not_matter(grader: Grader, language: str) -> None:
    report = grade(grader, language, NOISY[language], "twice", [[1000], [-8]], [2000, -16])
    assert report.verdict == "passed", report.feedback


KINDS = {
    "cpp": "tuple<optional<int>, array<string, 2>, multiset<char>> sortKinds(\n"
    "    tuple<optional<int>, array<string, 2>, string_view> of, int times = 1) {\n"
    "  auto [number, names, text] = of;\n"
    "  return {number, names, multiset<char>(text.begin(), text.end())};\n}",
    "java": "import java.util.*;\n\nclass Kind { /* } */ char brace = '}'; }\n\n"
    "public class Sorter {\n  static class Solution {\n"
    "    public List<Object> sortKinds(List<Object> of) {\n"
    "      char[] text = ((String) of.get(2)).toCharArray();\n      Arrays.sort(text);\n"
    "      return Arrays.asList(of.get(0), of.get(1), text);\n    }\n  }\n}",
    "rust": "use std::collections::VecDeque;\nimpl Solution {\n"
    "    pub fn sort_kinds(&self, of: (Option<i64>, [String; 2], String))\n"
    "        -> (Option<i64>, VecDeque<String>, Vec<char>) {\n"
    "        let mut text: Vec<char> = of.2.chars().collect();\n        text.sort();\n"
    "        (of.0, VecDeque::from(of.1.to_vec()), text)\n    }\n}",
}
"""Functions of values that lack a name in JSON. Parameters with defaults, methods of an object and
classes within classes may be called, too."""


@pytest.mark.parametrize("language", KINDS)
def test_values_of_kinds_that_json_lacks_arrive_and_come_back(
    grader: Grader, language: str
) -> None:
    inputs: list[object] = [[[5, ["x", "y"], "cab"]], [[None, ["", "z"], ""]]]
    outputs: list[object] = [[5, ["x", "y"], ["a", "b", "c"]], [None, ["", "z"], []]]
    report = grade(grader, language, KINDS[language], "sortKinds", inputs, outputs)
    assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize(
    ("language", "code"),
    [
        pytest.param(
            "java",
            "import java.util.*;\n\npublic class Halves {\n"
            "  public static int half(int number) { return number / 2; }\n"
            "  public static void main(String[] args) { System.out.println(half(3)); }\n}",
            id="static method of another class",
        ),
        pytest.param(
            "java",
            "class Two { int two() { return 2; } }\n"
            "int half(int number) { return number / new Two().two(); }",
            id="method after a class",
        ),
        pytest.param(
            "rust",
            "struct Solution { by: i32 }\nimpl Solution {\n"
            "    fn new() -> Self { Solution { by: 2 } }\n"
            "    pub fn half(&mut self, number: i32) -> i32 { number / self.by }\n}",
            id="method of an object that is made",
        ),
        pytest.param(
            "cpp",
            "class Solution {\n  vector<int> kept;\npublic:\n"
            "  int& half(int number, int by = 2) {\n"
            "    kept.push_back(number / by);\n    return kept[0];\n  }\n};",
            id="parameter with a default",
        ),
        pytest.param(
            "javascript",
            "module.exports = { by: 2, half(number) { return Math.floor(number / this.by); } };",
            id="method of what is exported",
        ),
        pytest.param(
            "javascript", "exports.half = (number) => Math.floor(number / 2);", id="property"
        ),
        pytest.param(
            "javascript",
            "module.exports = function half(number) { return Math.floor(number / 2); };",
            id="function that a module is",
        ),
        pytest.param(
            "javascript",
            "var Solution = function () { this.by = 2; };\n"
            "Solution.prototype.half = function (number) {\n"
            "  return Math.floor(number / this.by);\n};",
            id="method of a prototype",
        ),
        pytest.param(
            "javascript",
            "export default (number) => Math.floor(number / 2);",
            id="exported function without a name",
        ),
        pytest.param(
            "typescript",
            "export default function (number: number): number { return Math.floor(number / 2); }",
            id="the same in TypeScript",
        ),
        pytest.param(
            "javascript",
            "function half(number) { return Math.floor(number / 2); }\n"
            "if (require.main === module) {\n"
            "  console.log(half(+require('fs').readFileSync(0)));\n  process.exit(1);\n}",
            id="beside a main program",
        ),
        pytest.param(
            "rust",
            "fn half(number: i32) -> Result<i32, String> { Ok(number / 2) }",
            id="function that returns a Result",
        ),
        pytest.param(
            "go",
            "func half(number int) (int, error) { return number / 2, nil }",
            id="function that returns an error, too",
        ),
    ],
)
def test_function_is_found_wherever_the_answer_has_it(
    grader: Grader, language: str, code: str
) -> None:
    report = grade(grader, language, code, "half", [[5], [8]], [2, 4])
    assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize(
    ("language", "code"),
    [
        pytest.param(
            "go", 'func f(n int) (int, error) { return n, errors.New("it is odd") }', id="go"
        ),
        pytest.param(
            "rust", 'fn f(_: i32) -> Result<i32, String> { Err("it is odd".into()) }', id="rust"
        ),
    ],
)
def test_error_that_a_function_returns_is_a_runtime_error(
    grader: Grader, language: str, code: str
) -> None:
    if language == "go":
        code = f'import "errors"\n{code}'
    report = grade(grader, language, code, "f", [[5]], [5])
    assert report.verdict == "runtime_error"
    assert "it is odd" in report.feedback


def test_several_results_are_a_list(grader: Grader) -> None:
    code = "func halve(n int) (int, bool, []int) { return n / 2, n%2 == 0, []int{n} }"
    report = grade(grader, "go", code, "halve", [[5]], [[2, False, [5]]])
    assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize(
    ("language", "code"),
    [
        pytest.param(
            "cpp",
            "unordered_map<char, int> more(map<char, int> counts) {\n"
            "  counts['\"']++;\n  return {counts.begin(), counts.end()};\n}",
            id="cpp",
        ),
        pytest.param(
            "java",
            "Map<Character, Integer> more(Map<Character, Integer> counts) {\n"
            "  counts.merge('\"', 1, Integer::sum);\n  return counts;\n}",
            id="java",
        ),
        pytest.param(
            "rust",
            "use std::collections::HashMap;\n"
            "fn more(mut counts: HashMap<char, i32>) -> HashMap<char, i32> {\n"
            "    *counts.entry('\"').or_default() += 1;\n    counts\n}",
            id="rust",
        ),
        pytest.param(
            "go",
            "func more(counts map[rune]int) map[byte]int {\n"
            "\tall := map[byte]int{'\"': 1}\n"
            "\tfor key, count := range counts { all[byte(key)] += count }\n\treturn all\n}",
            id="go",
        ),
    ],
)
def test_characters_may_be_keys(grader: Grader, language: str, code: str) -> None:
    inputs: list[object] = [[{"a": 1}], [{'"': 1, "\\": 2}]]
    outputs: list[object] = [{"a": 1, '"': 1}, {'"': 2, "\\": 2}]
    report = grade(grader, language, code, "more", inputs, outputs)
    assert report.verdict == "passed", report.feedback


def test_number_that_a_parameter_cannot_hold_is_not_changed(grader: Grader) -> None:
    code = "unsigned short same(unsigned short number) { return number; }"
    inputs: list[object] = [[65535], [65536], [-1], [2.5]]
    report = grade(grader, "cpp", code, "same", inputs, [65535, 0, 65535, 2])
    assert [case.verdict for case in report.cases] == ["passed", *["runtime_error"] * 3]


def test_properties_without_a_value_do_not_count(grader: Grader) -> None:
    code = "const f = () => ({ kept: null, gone: undefined, method() {}, list: [undefined] });"
    report = grade(grader, "javascript", code, "f", [[]], [{"kept": None, "list": [None]}])
    assert report.verdict == "passed", report.feedback


def test_value_that_is_no_data_is_not_null(grader: Grader) -> None:
    report = grade(grader, "javascript", "function f() { return f; }", "f", [[]], [None])
    assert report.verdict == "failed"


def test_argument_that_json_lacks_is_the_labels_fault(grader: Grader) -> None:
    report = grade(grader, "javascript", "const f = () => 1;", "f", [[float("nan")]], [1])
    assert not report.graded
    assert "argument that cannot be passed" in report.feedback


def test_function_whose_name_is_none_is_the_labels_fault(grader: Grader) -> None:
    report = grade(grader, "javascript", "const f = () => 1;", "f)(); (f", [[]], [1])
    assert not report.graded
    assert "expected a name" in report.feedback


NODES = {
    "cpp": "class Solution {\npublic:\n"
    "    // struct ListNode { int val; ListNode *next; };\n"
    "    ListNode* reverseFrom(ListNode* head, TreeNode* root) {\n"
    "        ListNode *last = root ? new ListNode(root->right->val) : nullptr;\n"
    "        for (; head; head = head->next) last = new ListNode(head->val, last);\n"
    "        return last;\n    }\n"
    "    TreeNode* mirror(TreeNode *root) {\n"
    "        if (!root) return root;\n"
    "        return new TreeNode(root->val, mirror(root->right), mirror(root->left));\n    }\n};",
    "go": "func reverseFrom(head *ListNode, root *TreeNode) *ListNode {\n"
    "\tvar last *ListNode\n\tif root != nil {\n\t\tlast = &ListNode{Val: root.Right.Val}\n\t}\n"
    "\tfor ; head != nil; head = head.Next {\n\t\tlast = &ListNode{head.Val, last}\n\t}\n"
    "\treturn last\n}\n\nfunc mirror(root *TreeNode) *TreeNode {\n"
    "\tif root == nil {\n\t\treturn nil\n\t}\n"
    "\treturn &TreeNode{root.Val, mirror(root.Right), mirror(root.Left)}\n}",
    "javascript": "/**\n * function ListNode(val, next) {}\n */\n"
    "/**\n * @param {ListNode} head\n * @param {TreeNode} root\n * @return {ListNode}\n */\n"
    "var reverseFrom = function(head, root) {\n"
    "  let last = root ? new ListNode(root.right.val) : null;\n"
    "  for (; head; head = head.next) last = new ListNode(head.val, last);\n"
    "  return last;\n};\n"
    "/**\n * @param {TreeNode} root\n * @return {TreeNode}\n */\n"
    "const mirror = (root) => root\n"
    "  && new TreeNode(root.val, mirror(root.right), mirror(root.left));",
    "rust": "use std::cell::RefCell;\nuse std::rc::Rc;\n"
    "// pub struct ListNode { pub val: i32, pub next: Option<Box<ListNode>> }\n"
    "type Tree = Option<Rc<RefCell<TreeNode>>>;\n"
    "impl Solution {\n"
    "    pub fn reverse_from(mut head: Option<Box<ListNode>>, root: Tree)\n"
    "        -> Option<Box<ListNode>> {\n"
    "        let mut last = root.map(|node| {\n"
    "            let right = node.borrow().right.clone().unwrap();\n"
    "            let val = right.borrow().val;\n"
    "            Box::new(ListNode::new(val))\n        });\n"
    "        while let Some(mut node) = head {\n            head = node.next.take();\n"
    "            node.next = last;\n            last = Some(node);\n        }\n"
    "        last\n    }\n"
    "    pub fn mirror(root: Tree) -> Tree {\n"
    "        root.map(|node| {\n            let node = node.borrow();\n"
    "            Rc::new(RefCell::new(TreeNode {\n                val: node.val,\n"
    "                left: Self::mirror(node.right.clone()),\n"
    "                right: Self::mirror(node.left.clone()),\n            }))\n        })\n"
    "    }\n}",
    "typescript": "type ListNode = { val: number; next: ListNode | null };\n"
    "function reverseFrom(head: ListNode | null, root: TreeNode | null): ListNode | null {\n"
    "  let last: ListNode | null = root ? { val: root.right!.val, next: null } : null;\n"
    "  for (; head; head = head.next) last = { val: head.val, next: last };\n"
    "  return last;\n}\n"
    "function mirror(root: TreeNode | null): TreeNode | null {\n"
    "  return root && new TreeNode(root.val, mirror(root.right), mirror(root.left));\n}",
    "java": "class Solution {\n    ListNode reverseFrom(ListNode head, TreeNode root) {\n"
    "        ListNode last = root == null ? null : new ListNode(root.right.val);\n"
    "        for (; head != null; head = head.next) last = new ListNode(head.val, last);\n"
    "        return last;\n    }\n\n    TreeNode mirror(TreeNode root) {\n"
    "        if (root == null) return null;\n"
    "        return new TreeNode(root.val, mirror(root.right), mirror(root.left));\n    }\n}",
}
"""Functions over LeetCode's nodes, which the answers leave to be defined."""


@pytest.mark.parametrize("language", NODES)
def test_linked_lists_and_trees_are_made_of_lists_and_shown_as_such(
    grader: Grader, language: str
) -> None:
    inputs: list[object] = [[[1, 2], [5, None, 6, 7]], [[], []], [[1, 2], [None]]]
    report = grade(grader, language, NODES[language], "reverseFrom", inputs, [[2, 1, 6], [], [2]])
    verdicts = [case.verdict for case in report.cases]
    assert verdicts == ["passed", "passed", "failed"], report.feedback
    trees: list[object] = [[[1, None, 2, 3]], [[]], [[4, 5, 6]]]
    report = grade(
        grader, language, NODES[language], "mirror", trees, [[1, 2, None, None, 3], [], [4, 5, 6]]
    )
    verdicts = [case.verdict for case in report.cases]
    assert verdicts == ["passed", "passed", "failed"], report.feedback


SEVERAL = {
    "java": "class Solution {\n    ListNode[] pieces(ListNode head, List<TreeNode> trees) {\n"
    "        return new ListNode[] {head, null};\n    }\n"
    "    static List<TreeNode> trees(TreeNode root) { return Arrays.asList(null, root); }\n}",
    "javascript": "class Solution {\n  /**\n   * @param {ListNode} head\n"
    "   * @param {TreeNode[]} trees\n   * @return {ListNode[]}\n   */\n"
    "  pieces(head, trees) { return [head, null]; }\n"
    "  /**\n   * @param {TreeNode} root\n   * @return {TreeNode[]}\n   */\n"
    "  static trees(root) { return [null, root]; }\n}",
    "typescript": "class Solution {\n"
    "  pieces(head: ListNode | null, trees: TreeNode[]): Array<ListNode | null> {\n"
    "    return [head, null];\n  }\n"
    "  static trees(root: TreeNode | null): (TreeNode | null)[] { return [null, root]; }\n}",
}
"""Functions that return several nodes, one of which is none; one function is static."""


@pytest.mark.parametrize("language", SEVERAL)
def test_each_of_several_nodes_is_a_list(grader: Grader, language: str) -> None:
    code = SEVERAL[language]
    report = grade(grader, language, code, "pieces", [[[1, 2], []]], [[[1, 2], []]])
    assert report.verdict == "passed", report.feedback
    report = grade(grader, language, code, "trees", [[[1, None, 2]]], [[[], [1, None, 2]]])
    assert report.verdict == "passed", report.feedback


HALVES = {
    "cpp": {
        "half.h": "int half(int number);",
        "half.cpp": '#include "half.h"\nint half(int number) { return number / 2; }',
        "solution.cpp": '#include <vector>\n#include "half.h"\nstd::vector<int> halves('
        "std::vector<int> all) {\n  for (int& each : all) each = half(each);\n  return all;\n}",
        "main.cpp": "int main() { return 3; }",
    },
    "java": {
        "Solution.java": "public class Solution {\n  public int[] halves(int[] all) {\n"
        "    return java.util.Arrays.stream(all).map(Half::of).toArray();\n  }\n}",
        "Half.java": "public class Half { static int of(int number) { return number / 2; } }",
    },
    "typescript": {
        "halves.ts": 'import { half } from "./half";\n\n'
        "export function halves(all: number[]): number[] { return all.map(half); }",
        "half.ts": "export function half(one: number): number { return Math.floor(one / 2); }",
    },
}


@pytest.mark.parametrize("language", HALVES)
def test_function_of_an_answer_of_several_files_is_called(grader: Grader, language: str) -> None:
    code = f"\n```\n```{language}\n".join(
        f"// file: {path}\n{text}" for path, text in HALVES[language].items()
    )
    report = grade(grader, language, code, "halves", [[[4, 7]]], [[2, 3]])
    assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize(
    ("language", "name"),
    [("cpp", "union"), ("java", "Solution.default"), ("go", "range"), ("rust", "match")],
)
def test_keyword_as_name_of_the_function_is_the_fault_of_the_label(
    grader: Grader, language: str, name: str
) -> None:
    report = grade(grader, language, f"the {name.rpartition('.')[2]}", name, [[1]], [1])
    assert not report.graded
    assert f"{name.rpartition('.')[2]!r}, which cannot be the name of a function" in report.feedback
    title = languages.languages()[language].title
    assert report.feedback.endswith(f"in {title}")


@pytest.mark.parametrize(
    ("language", "name", "code"),
    [
        pytest.param(
            "javascript", "delete", "class Solution { delete(n) { return n; } }", id="as a method"
        ),
        pytest.param("cpp", "not_eq", "int notEq(int n) { return n; }", id="in camel case"),
    ],
)
def test_keyword_that_an_answer_can_use_or_spell_otherwise_is_called(
    grader: Grader, language: str, name: str, code: str
) -> None:
    report = grade(grader, language, code, name, [[1]], [1])
    assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize("name", ["files", "given", "result", "types", "value"])
def test_function_in_javascript_may_have_a_common_name(grader: Grader, name: str) -> None:
    report = grade(grader, "javascript", f"function {name}(n) {{ return n; }}", name, [[1]], [1])
    assert report.verdict == "passed", report.feedback


@pytest.mark.parametrize(
    ("name", "code", "given", "wanted"),
    [
        pytest.param(
            "reverse",
            "string reverse(string s) { reverse(s.begin(), s.end()); return s; }",
            ["ab"],
            "ba",
            id="which calls that one",
        ),
        pytest.param(
            "gcd",
            "int gcd(int a, int b) { return b ? gcd(b, a % b) : a; }",
            [12, 18],
            6,
            id="alike",
        ),
        pytest.param("swap", "int swap(int n) { return -n; }", [1], -1, id="of other parameters"),
    ],
)
def test_function_in_cpp_may_have_the_name_of_one_in_std(
    grader: Grader, name: str, code: str, given: list[object], wanted: object
) -> None:
    report = grade(grader, "cpp", code, name, [given], [wanted])
    assert report.verdict == "passed", report.feedback
