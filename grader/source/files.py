"""Submissions of several files.

They travel as one text, like any code: each file follows a line that names it, such as
`// file: shapes.h` or `# file: shapes.py`.
"""

import re
from collections.abc import Mapping, Sequence

from grader.languages import Language, name_pattern

MOST_FILES = 64
_MOST_PATH_CHARS = 200
_HEADER = re.compile(
    r"^[ \t]*(?://|#|--|%|;)[ \t]*file(?:name)?:[ \t]*(?P<path>\S(?:[^\n]{0,400}\S)?)[ \t]*$\n?",
    re.MULTILINE | re.IGNORECASE,
)
_PATH = re.compile(r"(?:\w[\w.+-]*/)*\w[\w.+-]*")
"""A path cannot begin with a dash, which a compiler would take for an option."""
_USUAL_MAIN = frozenset({"main", "__main__", "index", "app", "program", "solution"})
"""Stems of the names that main files usually have."""


def join_files(files: Mapping[str, str]) -> str:
    """Return files as one text, for `split_files`; a single file unchanged.

    If a line inside a file looks like one that names a file, that file will be split there.
    """
    if len(files) == 1:
        return next(iter(files.values()))
    return "".join(
        f"{'#' if path.endswith('.py') else '//'} file: {path}\n{content.rstrip()}\n"
        for path, content in files.items()
    )


def split_files(code: str) -> dict[str, str]:
    """Return the files of code by path, in order; empty if it is one file.

    It is several if it begins with a line that names a file, and another one follows. If a file
    occurs twice, the last one counts.
    """
    first = _HEADER.search(code)
    if first is None or code[: first.start()].strip():
        return {}
    headers = list(_HEADER.finditer(code))
    ends = [*(each.start() for each in headers[1:]), len(code)]
    files = {
        _plain(header["path"]): code[header.end() : end]
        for header, end in zip(headers, ends, strict=True)
    }
    return files if len(files) > 1 else {}


def _plain(path: str) -> str:
    return path.strip("`'\"").removeprefix("./")


def why_refused(paths: Sequence[str]) -> str | None:
    """Return why files of these paths cannot be put into a work area; None if they can."""
    if len(paths) > MOST_FILES:
        return f"it has {len(paths)} files; at most {MOST_FILES} are taken"
    folders = {path[:at] for path in paths for at, char in enumerate(path) if char == "/"}
    for path in paths:
        if len(path) > _MOST_PATH_CHARS or _PATH.fullmatch(path) is None:
            return (
                f"it names a file {path[:80]!r}; expected a relative path of letters, digits "
                "and _ . + - /, each part of which begins with a letter, a digit or _"
            )
        if path in folders:
            return f"the file {path!r:.80} is also the folder of another file"
    return None


def is_own(path: str, language: Language | None) -> bool:
    """Tell whether a file is source of a language; None is Python."""
    endings = (".py",) if language is None else language.endings + language.headers
    return path.endswith(endings)


def find_main(
    files: Mapping[str, str], language: Language | None, function: str | None = None
) -> str:
    """Return the path of the file that begins the program.

    Args:
        files: At least one, by path.
        language: What they are in; None for Python.
        function: The function that is called, if it is not a program that runs.
    """
    headers = () if language is None else language.headers
    sources = [path for path in files if is_own(path, language) and not path.endswith(headers)]
    sources = sources or list(files)
    whole = None if language is None else language.program
    if function is not None:
        whole = re.compile(name_pattern(function))
    if whole is not None:
        fit = [path for path in sources if whole.search(files[path])]
        if len(fit) == 1:
            return fit[0]
        sources = fit or sources
    usual = [path for path in sources if stem(path).lower() in _USUAL_MAIN]
    if usual:
        return usual[-1]
    for form in (_MENTIONED, _LOADED):
        if unnamed := [path for path in sources if not _is_mentioned(path, files, form)]:
            return unnamed[-1]
    return sources[-1]


def stem(path: str) -> str:
    """Return the name of a file without its folder and ending."""
    return path.rpartition("/")[2].partition(".")[0]


def belong_together(files: Mapping[str, str], language: Language | None) -> bool:
    """Tell whether files are parts of one program, and not one program each."""
    if language is not None and language.program is not None:
        return sum(1 for text in files.values() if language.program.search(text)) == 1
    main = find_main(files, language)
    return any(_is_mentioned(path, {main: files[main]}) for path in files if path != main)


_MENTIONED = r"\b{name}\b"
_LOADED = (
    r"^[ \t]*(?:import|from|use|require\w*|source|\.)[ \t]+(?:[\w.:/]*[.:/])?{name}\b"
    r"|[\"'](?:[\w./-]*/)?{name}(?:\.\w+)?[\"']"
)
"""A module by its name, or a path in quotes: not only a word, such as the name of a function."""


def _is_mentioned(path: str, files: Mapping[str, str], form: str = _MENTIONED) -> bool:
    name = stem(path)
    if name == "__init__":  # Python names its folder
        return True
    word = re.compile(form.replace("{name}", re.escape(name)), re.IGNORECASE | re.MULTILINE)
    return any(word.search(text) for other, text in files.items() if other != path)
