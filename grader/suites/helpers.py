"""What a prompt defines besides the function that the model is asked for.

If the original harness puts prompt, completion and tests into one process, the tests may use
helpers and constants of the prompt. A completion that repeats the prompt could change them so that
the tests pass. So the tests get the prompt's own.
"""

import ast

from grader.source.names import Definition
from grader.source.syntax import UNPARSABLE, parse


def helpers_of(prompt: str, entry_point: str, tests: str) -> str:
    """Return the prompt's definitions without the entry point, if the tests use any of them.

    Args:
        prompt: Source that precedes every completion, or that a completion continues.
        entry_point: The function that the model is asked for; its definition is left out.
        tests: Source that parses.

    Returns:
        Source; empty if the tests use none of the definitions, or if the prompt does not parse,
        for example because it ends in the middle of a statement.
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
        elif isinstance(node, Definition):
            own.add(node.name)
    if not defined & (used - own):
        return ""
    return "\n\n".join(ast.unparse(statement) for statement in others)


def _is_function(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.FunctionDef) and statement.name == name


def _names(statement: ast.stmt) -> set[str]:
    """Return the functions, classes and constants that a statement defines.

    Imports do not count, since what they name comes from modules, not from the completion.
    """
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            return {node.id for node in stored if isinstance(node.ctx, ast.Store)}
        case _:
            return set()
