"""Tells which expressions of tests are values of the submission."""

import re
from typing import NoReturn

from grader.languages.reading_tests import refuse
from grader.suites.expected_values import ASSIGNS, WORD, values_given
from grader.suites.masked import Code, mask_of

_CAST = re.compile(r"\(\s*(?:int|long|double|float|boolean|char|String)\s*\)\s*(?=[\w$])")
_IN_LIST = re.compile(r"\[")
_CALLED = re.compile(r"(\w+)\s*\(")
_AROUND_VALUE = re.compile(r"(?:[A-Za-z_][\w.:]*)?\s*\(|@\{")
_LENGTH = re.compile(r"[#@](?=[\w$])")
"""What makes a length of a list's name, in Lua and Perl."""
_ACCESS = re.compile(
    r"""(?:\s*(?:\.\w+[?!]?(?:\((?:-?\w*|'_*'|"_*")\))?|(?:->)?\[-?\w+\]|(?:->)?\[(?:'_*'|"_*")\]|->\w+"""
    r"""|(?:->)?\{\w+\}|\$\w+|\[\[(?:\w+|'_*'|"_*")\]\]))*\s*"""
)


class SubmissionValues:
    """What the submission computes in some tests."""

    def __init__(self, code: Code, entry_point: str, given: str) -> None:
        """Read nothing yet.

        Args:
            code: The tests.
            entry_point: The function or method of the submission that they call.
            given: The problem's own code.
        """
        self._code = code
        name = re.escape(entry_point)
        self._call = re.compile(rf"(?:[\w$]+\s*(?:::|\.))?{name}\s*\(")
        self._mention = re.compile(rf"(?<![\w$]){name}(?![\w$])")
        self._are_values: dict[str, bool] = {}
        """Whether names stand for what the submission computes."""
        self._given = set(_CALLED.findall(mask_of(given))) - {entry_point}
        self.use_given = not self._given.isdisjoint(_CALLED.findall(code.mask))
        """Whether the tests call a function of the problem's own."""

    def mentions(self, code: Code) -> bool:
        """Tell whether an expression has the name of the submission's function."""
        return self._mention.search(code.mask) is not None

    def is_value(self, code: Code) -> bool:
        """Tell whether an expression is a call of the submission, or reads a part of its result."""
        cast = _CAST.match(code.mask)
        code = code if cast is None else code.cut(cast.end(), len(code.mask))
        if self._is_call(code.mask):
            return True
        if (item := code.inside(_IN_LIST)) is not None:
            return self._is_call(item.mask)
        word = WORD.match(code.mask)
        if word is None or not _is_access(code.mask[word.end() :]):
            return False
        name = word[0]
        if name not in self._are_values:
            self._are_values[name] = False  # as long as it is only given itself
            given = values_given(self._code, name)
            self._are_values[name] = (bool(given) or self._is_passed(name)) and all(
                self.is_value(Code(each, each)) for each in given
            )
        return self._are_values[name]

    def require_value(self, code: Code) -> None:
        """Make sure that an expression is a value of the submission.

        Raises:
            SuiteError: It is not.
        """
        if not self.is_value(code):
            refuse_assertion(code.text)

    def without_functions(self, code: Code) -> Code:
        """Return the value that functions of one argument are around.

        What comes out of them is as unknown to the submission as the value. That is not so if the
        tests define them, since they may tell then whether the value is right.
        """
        while not self.is_value(code):
            length = _LENGTH.match(code.mask)
            inner = code.cut(1, len(code.mask)) if length else code.inside(_AROUND_VALUE)
            name = "" if length else code.mask.partition("(")[0].strip()
            if inner is None or len(inner.split(",")) > 1 or (name and self._defines(name)):
                return code
            code = inner
        return code

    def is_expected_first(self, first: Code, second: Code) -> bool:
        """Tell whether the second of two expressions is the value of the submission."""
        if self.mentions(first) or self.mentions(second):
            return not self.mentions(first)
        return not self.is_value(first) and self.is_value(second)

    def _defines(self, name: str) -> bool:
        """Tell whether the tests or the problem define a function of a name."""
        word = re.escape(name)
        defined = re.compile(
            rf"\b(?:function|def|sub|fn|func|bool|boolean|int)\s+{word}\b|(?<![\w$]){word}\s*{ASSIGNS}"
        )
        return defined.search(self._code.mask) is not None or name in self._given

    def _is_passed(self, word: str) -> bool:
        """Tell whether the submission gets a pointer to what has a name."""
        pointer = re.compile(rf"(?<![\w&])&\s*{re.escape(word)}\s*[,)]")
        code, calls = self._code, self._call.finditer(self._code.mask)
        ends = ((found.end(), code.end_of_brackets(found.end())) for found in calls)
        return any(
            end is not None and pointer.search(code.mask, start, end + 1) for start, end in ends
        )

    def _is_call(self, masked: str) -> bool:
        found = self._call.match(masked)
        if found is None:
            return False
        end = Code(masked, masked).end_of_brackets(found.end())
        return end is not None and _is_access(masked[end + 1 :])


def refuse_assertion(text: str) -> NoReturn:
    """Refuse tests because of one of their assertions.

    Raises:
        SuiteError: Always.
    """
    refuse("an assertion cannot be split into a call and an expected value", text)


def _is_access(rest: str) -> bool:
    """Tell whether the source after a value only reads a part of the value."""
    return _ACCESS.fullmatch(rest) is not None
