"""Finds a program in another language than Python among the code blocks of an answer.

Nothing is parsed here: fences name the language of a block, and a language may have a pattern that
only whole programs match.
"""

import html
import re
from dataclasses import dataclass, replace

from grader import languages
from grader.extract.blocks import Block, Tag, find_blocks
from grader.extract.source import SourceReader
from grader.extract.wrapped import unwrapped
from grader.languages import Language
from grader.model.overrides import ExtractionRule
from grader.source.files import belong_together, is_own, join_files, split_files, why_refused

_MAX_BLOCKS = 64
"""The most blocks that are read; earlier ones are ignored."""
_MAX_LINE_CHARS = 300
"""How far a line is read that may name a file."""
_MAX_NAMES_CHARS = 200
_FILE = r"(?P<path>[\w./\\+-]*\w\.\w+)"
_IN_FENCE = re.compile(
    r"(?:\b(?:file(?:_?(?:name|path))?|path|title|name)\s*[=:]\s*[\"']?|^[\w+#-]*[:\s]\s*|^)"
    rf"{_FILE}[\"']?(?=[\s,}}]|$)"
)
_IN_COMMENT = re.compile(
    r"\s*(?:<\?php\s+)?(?://|\#|--|%|;|/\*+|\(\*|\{-)[ \t]*(?i:file(?:name|path)?:[ \t]*)?"
    rf"{_FILE}[ \t]*(?:\*/|\*\)|-\}})?[ \t]*(?:\n|$)"
)
_IN_TITLE = re.compile(
    r"(?:[-+][ \t]+)?(?:\d+[.)][ \t]+)?[*`]*(?i:file(?:name)?\b[: \t*`]*)?"
    rf"{_FILE}[*`]*(?:[ \t]*\([^()]*\))?"
)
_SHEBANG = re.compile(r"\A\s*#!")
"""What only a whole program begins with, in languages that need no `main`."""
_GUARD = re.compile(
    r"(?>\s+|//[^\n]*\n|/\*(?s:.*?)\*/)*+"
    r"#[ \t]*(?:pragma[ \t]+once|if(?:ndef|[ \t]*![ \t]*defined)[ \t(]+\w+[\s)]*#[ \t]*define)\b"
)
"""How a header begins."""
_INCLUDED = re.compile(r"^[ \t]*#[ \t]*include[ \t]*\"([^\"\n]+)\"", re.MULTILINE)
_TEST_FILE = re.compile(
    r"(?:.*/)?(?:tests?[_.-][^/]*|[^/]*[_.-](?:tests?|spec)\.\w+|[^/]*Tests?\.\w+)"
)
"""What an answer brings to test itself, which is not a part of the program."""


_MAX_CHARS = 256 * 1024
"""How much of an answer without code blocks is read to tell whether it is wrapped."""
_WRAPPED = re.compile(
    r"\A\s*+(?:\{(?s:.*)\}|\[(?s:.*)\]|<(?:code|pre)\b(?s:.*)</(?:code|pre)>)\s*\Z"
)
"""What begins and ends as JSON or an element of HTML do."""
_GLUED_FENCE = re.compile(r"(?<=[^`\s])[ \t]*`{3,}[ \t]*$", re.MULTILINE)
"""A closing fence that stands in the last line of the code."""
_ESCAPED = re.compile(r"&[lg]t;")
_UNESCAPED = re.compile(r"[<>]|&(?!#?\w+;)")
"""What a text as HTML writes it lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProgram:
    """A program, or why there is none."""

    code: str | None
    note: str


def language_of(text: str, reader: SourceReader) -> Language | None:
    """Return the language of the program in an answer that may be in any language; None for Python.

    It is the language of the last block with a whole program. If there is none, and no block of
    Python, it is the language of the last block that names one.
    """
    blocks = find_blocks(text, reader)[-_MAX_BLOCKS:]
    named = [(block, languages.find(block.word)) for block in blocks]
    for block, language in reversed(named):
        whole = None if language is None else language.program
        if whole is not None and whole.search(block.content(text)):
            return language
    if any(block.tag is Tag.PYTHON for block in blocks):
        return None
    return next((language for _, language in reversed(named) if language is not None), None)


def find_program(
    text: str,
    language: Language,
    reader: SourceReader,
    rule: ExtractionRule,
    *,
    entry_point: str | None = None,
    continues: bool = False,
) -> FoundProgram:
    """Return the code of an answer.

    Args:
        text: The answer, without thinking.
        language: The language of the code.
        reader: Reads the text's Python, to find the ends of blocks.
        rule: `AUTO` takes the last block with a whole program or, if a function is wanted, the
            longest block that defines it or, if none does, that has its name. The other rules take
            a block by its position.
        entry_point: The function that is wanted; None for a program.
        continues: Whether the answer may continue the beginning of that function.
    """
    found = _find_plain(text, language, reader, rule, entry_point, continues=continues)
    if rule is ExtractionRule.AUTO and (found.code is None or _WRAPPED.search(text[:_MAX_CHARS])):
        fits = language.program or language.reads_input
        fits = fits if entry_point is None else mention(entry_point)
        for inner in unwrapped(text, reader):
            if inner == text:
                continue
            within = _find_plain(inner, language, reader, rule, entry_point, continues=False)
            if within.code is not None and fits is not None and fits.search(within.code):
                found = replace(within, note=f"{within.note} It was wrapped in something.")
                break
    code = found.code
    is_escaped = code is not None and _ESCAPED.search(code) and not _UNESCAPED.search(code)
    return replace(found, code=html.unescape(code)) if code is not None and is_escaped else found


def _find_plain(
    text: str,
    language: Language,
    reader: SourceReader,
    rule: ExtractionRule,
    entry_point: str | None,
    *,
    continues: bool,
) -> FoundProgram:
    whole = language.program if entry_point is None else mention(entry_point)
    blocks = find_blocks(text, reader)[-_MAX_BLOCKS:]
    if rule is ExtractionRule.AUTO:
        several = find_files(text, blocks, language, entry_point=entry_point)
        if several is not None:
            return several
        opened = _opened_by_prompt(text, blocks, language, entry_point, continues=continues)
        if opened is not None:
            note = f"Took code of {language.title} before a fence that only closes."
            return FoundProgram(code=opened, note=note)
    own = [block for block in blocks if block.word in language.fences]
    pool = own or [block for block in blocks if block.tag is Tag.NONE]
    pool = [block for block in pool if block.content(text).strip()]
    pool = [block for block in pool if block.closed] or pool
    if pool:
        block, which = _choose(text, pool, whole, rule, entry_point, language.reads_input)
        kind = f"of {language.title}" if own else "without a language"
        number = pool.index(block) + 1
        note = f"Took code block {number} of {len(pool)} {kind}, the {which}."
        code = block.content(text)
        glued = None if block.closed else _GLUED_FENCE.search(code)
        return FoundProgram(code=code[: glued.start()] if glued else code, note=note)
    if blocks:
        others = ", ".join(dict.fromkeys(repr(block.word) for block in blocks if block.word))
        note = f"No code block is of {language.title}; there are blocks of {others or 'nothing'}."
        return FoundProgram(code=None, note=note)
    if not text.strip():
        return FoundProgram(code=None, note="The answer is empty.")
    if whole is not None and not continues and whole.search(text) is None:
        wanted = f"{language.title} program" if entry_point is None else entry_point
        note = f"The answer has no code block and no {wanted}."
        return FoundProgram(code=None, note=note)
    return FoundProgram(code=text, note="Took the whole answer, which has no code block.")


def _opened_by_prompt(
    text: str,
    blocks: list[Block],
    language: Language,
    entry_point: str | None,
    *,
    continues: bool,
) -> str | None:
    """Return the code before the first fence, if the prompt has opened the block that it closes.

    Then it is a program, or defines or continues the function, and nothing after it does. A script
    that reads nothing has no such signs; then the fence has to look like one that closes.
    """
    if not blocks or blocks[0].tag is not Tag.NONE:
        return None
    code = text[: blocks[0].opener]
    if "```" in code:
        return None  # what looks like a block is one that is quoted, for example
    first, _, rest = code.partition("\n")
    if first.strip().lower() in language.fences:
        code = rest
    if entry_point is not None:
        fits: re.Pattern[str] | None = _definition(entry_point)
    else:
        fits = language.program or language.reads_input
    if fits is not None:
        if any(fits.search(block.content(text)) for block in blocks):
            return None
        if fits.search(code) or (continues and _is_rest(code)):
            return code
    is_script = entry_point is None and language.program is None
    return code if is_script and _only_closes(text, blocks) else None


def _only_closes(text: str, blocks: list[Block]) -> bool:
    """Tell whether the fence that seems to open the first block, without a language, closes one.

    Then it follows a line of code at once, what follows is apart from it, and the fences after it
    do not fit: the next one opens a block in a language, or the last one has none that closes it.
    """
    content = blocks[0].content(text)
    follows_code = re.search(r"[^\s:][ \t]*\n\Z", text[: blocks[0].opener]) is not None
    is_apart = re.match(r"[ \t]*(?:\n|\Z)", content) is not None
    fit = blocks[-1].closed and _OPENS.search(content) is None
    return follows_code and is_apart and not fit


_OPENS = re.compile(r"^[ \t]*```\w", re.MULTILINE)


def find_files(
    text: str, blocks: list[Block], language: Language | None, *, entry_point: str | None = None
) -> FoundProgram | None:
    """Return an answer of several files that are one program; None if it is not.

    Files are those of a text as `grader.source.files` describes it, and blocks that are named.

    Args:
        text: The answer, without thinking.
        blocks: Its blocks.
        language: Its language; None for Python.
        entry_point: The function that is wanted; None for a program.
    """
    files = split_files(text)
    if files:
        return _found_files(files, language)
    named: dict[str, str] = {}
    for block in blocks:
        content = block.content(text)
        inner = split_files(content)
        if inner:
            named.update(inner)
        elif (name := _name_of(text, block, content)) is not None:
            named.pop(name, None)  # The last one counts, and is the last.
            named[name] = content
    if not named and language is not None and language.headers:
        named = _header_and_sources(text, blocks, language)
    files = {
        path: content
        for path, content in named.items()
        if is_own(path, language) and not _TEST_FILE.fullmatch(path)
    }
    whole = None if language is None else language.program
    if entry_point is not None:
        wanted = mention(entry_point)
        files = {
            path: content
            for path, content in files.items()
            if whole is None or not whole.search(content) or wanted.search(content)
        }
        fits = any(wanted.search(content) for content in files.values())
    else:
        fits = len(files) > 1 and belong_together(files, language)
    return _found_files(files, language) if len(files) > 1 and fits else None


def _header_and_sources(text: str, blocks: list[Block], language: Language) -> dict[str, str]:
    """Return a block that must be the header which others include, and these.

    They are a source of the same name and one with a `main`, or one of these. Empty if that is not
    clear. The last of each kind counts.
    """
    own = [block.content(text) for block in blocks if block.word in language.fences]
    headers = [content for content in own if _GUARD.match(content)]
    sources = [content for content in own if _INCLUDED.search(content) and content not in headers]
    included = {path for content in sources for path in _INCLUDED.findall(content)}
    if not headers or len(included) != 1:
        return {}
    (path,) = included
    stem, _, ending = path.rpartition(".")
    files = {path: headers[-1]}
    for content in sources:
        has_main = language.program is not None and language.program.search(content) is not None
        files[f"{'main' if has_main else stem}{language.endings[0]}"] = content
    return files if f".{ending}" in language.headers and not why_refused(list(files)) else {}


def _found_files(files: dict[str, str], language: Language | None) -> FoundProgram:
    if (why := why_refused(list(files))) is not None:
        return FoundProgram(code=None, note=f"The answer has several files, but {why}.")
    title = "Python" if language is None else language.title
    names = ", ".join(files)
    note = f"Took {len(files)} files of {title}: {names[:_MAX_NAMES_CHARS]}."
    return FoundProgram(code=join_files(files), note=note)


def _name_of(text: str, block: Block, content: str) -> str | None:
    """Return the file that a block is, as its fence, its first line or the line before says."""
    opening = text[block.opener : block.start].strip(" \t\n`~")[:_MAX_LINE_CHARS]
    found = _IN_FENCE.search(opening) or _IN_COMMENT.match(content[:_MAX_LINE_CHARS])
    if found is None:
        before = text[max(0, block.opener - _MAX_LINE_CHARS) : block.opener].rstrip()
        found = _IN_TITLE.fullmatch(before.rpartition("\n")[2].strip(" \t#*`:"))
    return None if found is None else found["path"].removeprefix("./")


def _choose(
    text: str,
    pool: list[Block],
    whole: re.Pattern[str] | None,
    rule: ExtractionRule,
    entry_point: str | None,
    reads_input: re.Pattern[str] | None,
) -> tuple[Block, str]:
    if rule is ExtractionRule.FIRST_BLOCK:
        return pool[0], "first"
    if rule is ExtractionRule.AUTO:
        whole = whole or _SHEBANG
        fit = [block for block in pool if whole.search(block.content(text))]
        if fit and entry_point is not None:
            defined = _definition(entry_point)
            fit = [block for block in fit if defined.search(block.content(text))] or fit
            return max(fit, key=lambda block: block.end - block.start), "longest that fits"
        if fit:
            return fit[-1], "last that is a whole program"
        if entry_point is None and reads_input is not None:
            fit = [block for block in pool if reads_input.search(block.content(text))]
            if fit:
                return fit[-1], "last that reads standard input"
    return pool[-1], "last"


def mention(name: str) -> re.Pattern[str]:
    """Return a pattern that finds a function, or the name of a `Class.method`, in any language."""
    return re.compile(languages.name_pattern(name))


def continues_function(code: str, name: str) -> bool:
    """Tell whether code goes on with a function of a name, in any language, that it does not begin.

    It may use that name all the same, if the function is recursive or the code tries it out.
    """
    if not mention(name).search(code):
        return True
    arrow = re.compile(rf"{languages.name_pattern(name)}\s*\([^()]*\)\s*=>")
    variable = re.compile(
        rf"^[ \t]+(?:let|var|const)\s+{languages.name_pattern(name)}\s*=\s*[\d\[{{\"']",
        re.MULTILINE,
    )
    code = variable.sub("", code)  # within the function, and of its name
    if _definition(name).search(code) or arrow.search(code):
        return False
    return _is_rest(code)


def _is_rest(code: str) -> bool:
    """Tell whether code begins as the rest of a function does."""
    return code.lstrip("\n")[:1] in (" ", "\t", "{") or code.count("}") > code.count("{")


def _definition(name: str) -> re.Pattern[str]:
    """Return a pattern that finds where a function or class is defined and not only used.

    It may miss one that is written in an unusual way.
    """
    name = languages.name_pattern(name)
    return re.compile(
        rf"\b(?:def|function|fn|func|fun|sub|const|let|local|val|var)\s+(?:\w+\.)?{name}"
        rf"|\b(?:class|struct|enum|interface|record|trait|namespace)\s+{name}"
        rf"|{name}\s*(?:<-|=(?!=))|^{name}\s*::"
        rf"|^(?![^\n]*\b(?:if|while|for|switch|match|return|until)\b)[^\n]*"
        rf"{name}\s*\([^;{{}}]*\)[^;{{}}()]*\{{",
        re.MULTILINE,
    )
