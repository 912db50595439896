"""Checks programs against the allow list, in time linear in their length. Standard library only.

Parsing an untrusted source can overflow the interpreter's stack, so the confined process of programs does it.
"""

import ast
import builtins
import io
import tokenize
import unicodedata
from collections.abc import Sequence

from evaluator.sandbox.programs.language import (
    ATTRIBUTES,
    CONSTANTS,
    FORMAT,
    FUNCTIONS,
    MOST_BITS,
    MOST_DEPTH,
    MOST_SOURCE_BYTES,
    NODES,
    REFUSED_IN_WORDS,
)
from evaluator.sandbox.programs.wire import Failure, ProgramError

_BUILTINS = frozenset(dir(builtins))
# The parser imports it at the first non-ASCII name, which a confined process cannot do.
_NORMALISING = unicodedata.__name__


def check(source: str, tree: ast.Module, *, helpers: frozenset[str] = frozenset()) -> None:
    """Check a program against the allow list.

    Args:
        source: of the program.
        tree: from `parse`, without annotations.
        helpers: further names that it may use.

    Raises:
        ProgramError: it uses something that is not allowed; with its line, and what is allowed instead.
    """
    if not source.isascii():
        _check_letters(source)
    nodes = list(ast.walk(tree))
    bound = set()
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.arg(arg=name):
                bound.add(name)
    known = FUNCTIONS | helpers | bound
    for node in nodes:
        if problem := _problem(node, known=known):
            message = f"{problem[0].upper()}{problem[1:]}."
            raise ProgramError(Failure.REFUSED, message, line=getattr(node, "lineno", None))


def parse(source: str) -> ast.Module:
    """The syntax tree of a program.

    Raises:
        ProgramError: it is too large or too deep, or not Python.
    """
    if len(source.encode(errors="replace")) > MOST_SOURCE_BYTES:
        raise ProgramError(
            Failure.REFUSED, f"The program is too long; at most {MOST_SOURCE_BYTES // 1024} KiB are allowed."
        )
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        # The message may quote the whole source.
        words = (error.msg or "invalid syntax")[:200]
        raise ProgramError(Failure.SYNTAX, f"The program is no Python: {words}.", line=error.lineno) from None
    except UnicodeEncodeError:
        raise ProgramError(Failure.SYNTAX, "The program is no Python: it contains half of a character.") from None
    except (ValueError, OverflowError):
        raise ProgramError(Failure.SYNTAX, "The program is no Python: it contains a null character.") from None
    except (RecursionError, MemoryError):
        raise ProgramError(Failure.REFUSED, "The program is nested too deeply.") from None
    level: list[ast.AST] = [tree]
    for _ in range(MOST_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    lines = [line for node in level if (line := getattr(node, "lineno", None)) is not None]
    raise ProgramError(
        Failure.REFUSED, f"The program is nested deeper than {MOST_DEPTH} levels.", line=min(lines, default=None)
    )


def _check_letters(source: str) -> None:
    """Refuse non-ASCII identifiers: the parser normalises lookalikes to the letters that they resemble."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            formatted = token.type == tokenize.STRING and "f" in token.string[:2].lower()
            if not token.string.isascii() and (
                formatted or token.type not in {tokenize.STRING, tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE}
            ):
                where = "f-strings and names" if formatted else "names"
                problem = f"The letters of {where} must be ASCII."
                raise ProgramError(Failure.REFUSED, problem, line=token.start[0])
    except (tokenize.TokenError, SyntaxError):
        raise ProgramError(Failure.REFUSED, "The letters outside of strings and comments must be ASCII.") from None


def _problem(node: ast.AST, *, known: frozenset[str]) -> str:
    """Why a node is not allowed; empty if it is."""
    kind = type(node)
    if kind not in NODES:
        return REFUSED_IN_WORDS.get(kind, f"{kind.__name__} is not allowed")
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name in _BUILTINS and name not in known:
            return f"the name {name!r} is not allowed; allowed functions are: {_listed(FUNCTIONS)}"
        case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
            decorated = isinstance(node, ast.FunctionDef) and node.decorator_list
            return _problem_of_name(name) or ("decorators are not allowed" if decorated else "")
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return next(filter(None, map(_problem_of_name, names)), "")
        case ast.Attribute(attr=name):
            if name not in ATTRIBUTES:
                return f"the attribute {name[:60]!r} is not allowed; allowed are: {_listed(ATTRIBUTES)}"
            return "" if isinstance(node.ctx, ast.Load) else f"the attribute {name!r} cannot be assigned or deleted"
        case ast.Constant(value=value) if type(value) not in CONSTANTS:
            name = type(value).__name__
            return f"constants of type {name} are not allowed; allowed are text, numbers, True, False, None"
        case ast.Constant(value=int(value)) if value.bit_length() > MOST_BITS:
            return f"integers of more than {MOST_BITS} bits are not allowed"
        case ast.FormattedValue(format_spec=ast.JoinedStr(values=values)):
            match values:
                case []:
                    return ""
                case [ast.Constant(value=str(text))] if FORMAT.fullmatch(text):
                    return ""
            return "this format in an f-string is not allowed; allowed are such as 5, .2f, 03d and >8"
    return _problem_of_target(node)


def _problem_of_name(name: str) -> str:
    if not name.isascii():
        return "the letters of names must be ASCII"
    return f"the name {name[:60]!r} is not allowed; names cannot begin with two underscores" if name[:2] == "__" else ""


def _problem_of_target(node: ast.AST) -> str:
    """Refuse targets that would need a temporary container, or a protocol that is not bounded."""
    match node:
        case ast.For(target=target) | ast.comprehension(target=target) if _contains(target, kind=ast.Starred):
            return "a starred target of for is not allowed; unpack it in a statement"
        case ast.For(target=target) | ast.comprehension(target=target) if _contains(target, kind=ast.Slice):
            return "a slice is not allowed as the target of for"
        case ast.comprehension(is_async=1):
            return "async is not allowed; use for"
        case ast.Assign(targets=targets):
            if any(_contains(part, kind=ast.Starred) for target in targets for part in _parts(target)):
                return "a starred target inside another one is not allowed; unpack it in a statement of its own"
            alone = len(targets) == 1 and isinstance(targets[0], ast.Subscript)
            if not alone and any(_contains(target, kind=ast.Slice) for target in targets):
                return "a slice must be the only target of its assignment"
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) if _contains(target, kind=ast.Slice):
            return "a slice cannot be the target of this assignment; use ="
    return ""


def _contains(target: ast.AST, *, kind: type[ast.AST]) -> bool:
    """Whether a target contains a node of this kind, not counting expressions inside its subscripts."""
    match target:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return any(_contains(element, kind=kind) for element in elements)
        case ast.Starred(value=value):
            return kind is ast.Starred or _contains(value, kind=kind)
        case ast.Subscript(slice=index):
            return isinstance(index, kind)
    return isinstance(target, kind)


def _parts(target: ast.AST) -> Sequence[ast.AST]:
    """The parts of a target that are themselves unpacked."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    return [part for part in parts if isinstance(part, ast.Tuple | ast.List)]


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
