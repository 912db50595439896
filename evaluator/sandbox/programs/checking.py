"""Checks programs against the allow-list, in time linear in their length. Standard library only.

Reading a hostile source can overflow the interpreter's stack, so the process of programs does it, confined.
"""

import ast
import builtins
import io
import tokenize
import unicodedata
from collections.abc import Iterator, Sequence

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
# The parser imports it at the first name outside ASCII, and a confined process can no longer do that.
_NORMALISING = unicodedata.__name__


def check(source: str, tree: ast.Module, *, helpers: frozenset[str] = frozenset()) -> None:
    """Check that a program keeps to the allow-list.

    Args:
        source: of the program.
        tree: what `parse` made of it, without annotations.
        helpers: further names that it may use.

    Raises:
        ProgramError: it uses what is not allowed; with its line, and what would be allowed.
    """
    if not source.isascii():
        _check_letters(source)
    nodes = list(ast.walk(tree))
    bound = {name for node in nodes for name in _bound(node)}
    known = FUNCTIONS | helpers | bound
    for node in nodes:
        problem = _problem(node, known=known)
        if problem:
            raise ProgramError(Failure.REFUSED, _sentence(problem), line=getattr(node, "lineno", None))


def parse(source: str) -> ast.Module:
    """The syntax tree of any program.

    Raises:
        ProgramError: it is too large or deep, or no Python.
    """
    if len(source.encode(errors="replace")) > MOST_SOURCE_BYTES:
        raise ProgramError(
            Failure.REFUSED, f"The program is too long; at most {MOST_SOURCE_BYTES // 1024} KiB are allowed."
        )
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        # What the parser quotes has the length of the source.
        words = (error.msg or "invalid syntax")[:200]
        raise ProgramError(Failure.SYNTAX, f"The program is no Python: {words}.", line=error.lineno) from None
    except UnicodeEncodeError:
        raise ProgramError(Failure.SYNTAX, "The program is no Python: it contains half of a character.") from None
    except (ValueError, OverflowError):
        raise ProgramError(Failure.SYNTAX, "The program is no Python: it contains a null character.") from None
    except (RecursionError, MemoryError):
        raise ProgramError(Failure.REFUSED, "The program is nested too deeply.") from None
    _check_depth(tree)
    return tree


def _check_letters(source: str) -> None:
    """Refuse identifiers outside ASCII: the parser would turn lookalikes into the letters that they resemble."""
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


def _check_depth(tree: ast.AST) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(MOST_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    lines = [line for node in level if (line := getattr(node, "lineno", None)) is not None]
    raise ProgramError(
        Failure.REFUSED, f"The program is nested deeper than {MOST_DEPTH} levels.", line=min(lines, default=None)
    )


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.arg(arg=name):
            yield name


def _problem(node: ast.AST, *, known: frozenset[str]) -> str:
    """Why a node is not allowed; empty if it is."""
    kind = type(node)
    if kind not in NODES:
        return REFUSED_IN_WORDS.get(kind, f"{kind.__name__} is not allowed")
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name in _BUILTINS and name not in known:
            return f"the name {name!r} is not allowed; allowed functions are: {_listed(FUNCTIONS)}"
        case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
            return _problem_of_name(name) or _problem_of_function(node)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return next(filter(None, map(_problem_of_name, names)), "")
        case ast.Attribute(attr=name):
            if name not in ATTRIBUTES:
                return f"the attribute {name[:60]!r} is not allowed; allowed are: {_listed(ATTRIBUTES)}"
            return "" if isinstance(node.ctx, ast.Load) else f"the attribute {name!r} cannot be assigned or deleted"
        case ast.Constant(value=value):
            return _problem_of_constant(value)
        case ast.FormattedValue(format_spec=ast.JoinedStr(values=values)):
            return _problem_of_format(values)
    return _problem_of_target(node)


def _problem_of_name(name: str) -> str:
    if not name.isascii():
        return "the letters of names must be ASCII"
    return f"the name {name[:60]!r} is not allowed; names cannot begin with two underscores" if name[:2] == "__" else ""


def _problem_of_function(node: ast.AST) -> str:
    decorated = isinstance(node, ast.FunctionDef) and node.decorator_list
    return "decorators are not allowed" if decorated else ""


def _problem_of_constant(value: object) -> str:
    if type(value) not in CONSTANTS:
        return f"constants of type {type(value).__name__} are not allowed; allowed are text, numbers, True, False, None"
    return (
        f"integers of more than {MOST_BITS} bits are not allowed"
        if isinstance(value, int) and (value.bit_length() > MOST_BITS)
        else ""
    )


def _problem_of_format(values: list[ast.expr]) -> str:
    match values:
        case []:
            return ""
        case [ast.Constant(value=str(text))] if FORMAT.fullmatch(text):
            return ""
    return "this format in an f-string is not allowed; allowed are such as 5, .2f, 03d and >8"


def _problem_of_target(node: ast.AST) -> str:
    """Targets that would need a temporary container or a protocol of their own."""
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
    """Whether a target has such a node, apart from expressions inside its subscripts."""
    match target:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return any(_contains(element, kind=kind) for element in elements)
        case ast.Starred(value=value):
            return kind is ast.Starred or _contains(value, kind=kind)
        case ast.Subscript(slice=index):
            return isinstance(index, kind)
    return isinstance(target, kind)


def _parts(target: ast.AST) -> Sequence[ast.AST]:
    """What the parts of an unpacked value are unpacked to."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
    return [part for part in parts if isinstance(part, ast.Tuple | ast.List)]


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _sentence(problem: str) -> str:
    return f"{problem[0].upper()}{problem[1:]}."
