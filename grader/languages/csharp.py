"""C#, by mono."""

import re

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Language,
    TranslatedTests,
    ValueDriver,
    driver_source,
    with_empty_method,
    with_open_class,
)
from grader.model import MiB

_MAIN = re.compile(r"\bMain\s*\(")
_PROBLEM = re.compile(r"\bclass\s+Problem\b[^{]*\{")
_CLASS = re.compile(r"\bclass\s+\w+[^{;]*\{")
_USING = re.compile(r"^[ \t]*using\s[\w.= \t]+;", re.MULTILINE)
_SHOW = driver_source("show.cs")


def show(values: ValueDriver) -> str:
    """Show the values of expressions, lists by what they hold and 1.0 as 1.

    Source around them continues a class that the answer begins. Without such source, the statements
    go into the class `Problem` or, if there is none, into the first class of the answer. Methods
    outside of classes are taken into one. What is put before the answer's own code stands in its
    first line, which keeps its line numbers.
    """
    usings = " ".join(values.head.split("\n"))
    code = _MAIN.sub("MainOfTheAnswer(", values.code)
    if _CLASS.search(code):
        code = f"{usings} {code}"
    else:
        own = " ".join(_USING.findall(code))
        code = f"{usings} {own} class Problem {{ {_USING.sub('', code)}\n"
        code += "" if values.around else "}"
    form = 'ShownForTests.Line("\\n{mark} {number} ", {expression})'
    if values.around:
        return f"{with_open_class(code)}\n{values.statements(form)}{_SHOW}"
    main = f" static void Main() {{ {values.statements(form, end=';')} }}".replace("\n", " ")
    begun = _PROBLEM.search(code) or _CLASS.search(code)
    end = len(code) if begun is None else begun.end()
    return code[:end] + main + code[end:] + _SHOW


def empty_method(begun: str, _name: str) -> str:
    """Complete a class whose last method has only begun."""
    stub = with_empty_method(
        begun, lambda type: "" if type == "void" else f"return default({type});"
    )
    return "class Program {" if stub is None else stub


LANGUAGES = (
    Language(
        name="csharp",
        title="C#",
        image="csharp",
        aliases=frozenset(
            {"c#", "cs", "mono", "dotnet", "mono c#", "ms c#", ".net core c#", "c# 8", "c# 10"}
        ),
        packages={"mcs": "mono-mcs", "mono": "mono-runtime"},
        folders=("/etc/mono",),
        source="solution.cs",
        compile=(
            *("mcs", "-optimize+", "-debug+", "-define:DEBUG", "-warn:0"),
            *("-r:System.Numerics.dll", "-out:solution.exe", "{sources}"),
        ),
        run=("mono", "--debug", "solution.exe"),
        program=_MAIN,
        time_factor=2.0,
        start_up_s=0.1,
        runtime_memory_bytes=32 * MiB,
        show=show,
        tests=TranslatedTests(
            start="Debug.Assert(",
            call="",
            name=re.compile(r"Debug\.Assert\((\w+)\("),
        ),
        assertions=Assertions(
            start=re.compile(
                # A printed truth value stands for an assertion.
                r"(?P<condition>\bDebug\.Assert\s*\(|\bConsole\.WriteLine\s*\((?=[^;\n]*==))"
            ),
            # Newer compilers than mono's import these unasked.
            imports="using System;\nusing System.Collections.Generic;\nusing System.Linq;",
            stub=empty_method,
        ),
        compile_words=ErrorWords(
            message=re.compile(r"\berror (?P<message>CS\d+: .+)"),
            line=re.compile(r"solution\.cs\((?P<line>\d+),\d+\): error "),
        ),
        runtime_words=ErrorWords(
            message=re.compile(
                r"^Unhandled Exception:\n(?P<message>.+)|^(?:Stack overflow).*", re.MULTILINE
            ),
            line=re.compile(r"solution\.cs:(?P<line>\d+)"),
        ),
        out_of_memory=("System.OutOfMemoryException", "Garbage collector could not allocate"),
    ),
)
