"""What a prompt defines beside the function that is asked for.

Where the harness of record puts prompt, completion and tests into one process, tests use the
prompt's own helpers and constants. A completion that repeats the prompt brings its own version of
them, and could make them whatever lets the tests pass; so the tests get the prompt's.
"""

import ast

from grader.source.syntax import UNPARSABLE, parse


def helpers_of(prompt: str, entry_point: str, tests: str) -> str:
    """Return the prompt's definitions without the entry point, if the tests use any of them.

    Args:
        prompt: Source that stands before every completion, or that a completion continues.
        entry_point: The function that is asked for; what the prompt says of it is left out.
        tests: Source that parses.

    Returns:
        Source; empty where the tests use nothing of it, or where the prompt does not parse, as
        one does not that breaks off in the middle.
    """
    try:
        body = parse(prompt).body
    except UNPARSABLE:
        return ""
    others = [statement for statement in body if not _is_function(statement, entry_point)]
    defined = {name for statement in others for name in _names(statement)}
    tree = ast.walk(parse(tests)) if defined else ()
    own: set[str] = set()
    used: set[str] = set()
    for node in tree:
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else own).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own.add(node.name)
    if not defined & (used - own):
        return ""
    return "\n\n".join(ast.unparse(statement) for statement in others)


def _is_function(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.FunctionDef) and statement.name == name


def _names(statement: ast.stmt) -> set[str]:
    """Return what a statement defines: functions, classes and constants, but not imports.

    Modules and what comes from them are not the submission's to change in any case.
    """
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            return {node.id for node in stored if isinstance(node.ctx, ast.Store)}
        case _:
            return set()
