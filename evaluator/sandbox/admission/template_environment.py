"""Jinja with a budget of steps and characters, for chat templates of submitted models.

A template may use a closed list of syntax, filters, tests, functions and methods. Every operation that repeats, joins
or copies is counted before it happens; `rewrite` puts the calls that count into the syntax tree."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, NoReturn

from jinja2 import TemplateError, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from evaluator.sandbox.admission.template_rewriting import rewrite

MOST_STEPS = 300_000
"""Of one rendering: operations, and characters that they work on by the hundred."""


MOST_CHARACTERS = 400_000
"""Of the prompt, and of any text or structure on the way to it."""


MOST_NODES = 12_000
"""Of its syntax. The longest published templates have some 5,000."""


_CHARACTERS_OF_A_STEP = 100


_MOST_DEPTH = 20


_MOST_NUMBER = 10**18


_MOST_INDENT = 16


_OF_JINJA = ("_loop_vars", "_block_vars")
"""Arguments that Jinja itself passes with a call."""


_DATE_FORMAT = re.compile(r"(?:%[-_]?[A-Za-z%]|[^%]){0,100}")


_ALLOWED_NODES = (
    nodes.Add, nodes.And, nodes.Assign, nodes.AssignBlock, nodes.Break, nodes.Call, nodes.CallBlock, nodes.Compare,
    nodes.Concat, nodes.CondExpr, nodes.Const, nodes.Continue, nodes.Dict, nodes.Div, nodes.ExprStmt, nodes.Filter,
    nodes.FilterBlock, nodes.FloorDiv, nodes.For, nodes.Getattr, nodes.Getitem, nodes.If, nodes.Keyword, nodes.List,
    nodes.Macro, nodes.Mod, nodes.Mul, nodes.NSRef, nodes.Name, nodes.Neg, nodes.Not, nodes.Operand, nodes.Or,
    nodes.Output, nodes.Pair, nodes.Pos, nodes.Pow, nodes.Scope, nodes.Slice, nodes.Sub, nodes.Template,
    nodes.TemplateData, nodes.Test, nodes.Tuple, nodes.With,
)  # fmt: skip


_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first", "float", "indent", "int", "items",
    "join", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "replace", "reverse",
    "safe", "select", "selectattr", "sort", "string", "title", "trim", "unique", "upper",
)  # fmt: skip


_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        {"capitalize", "count", "endswith", "find", "index", "isalnum", "isalpha", "isdigit", "islower", "isnumeric",
         "isspace", "isupper", "join", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace",
         "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "title",
         "upper"}
    ),
    dict: frozenset({"get", "items", "keys", "values"}),
    list: frozenset({"count", "index"}),
    tuple: frozenset({"count", "index"}),
}  # fmt: skip


class TemplateRefusedError(ValueError):
    """A chat template that is not rendered here; the message is the end of a sentence that begins with it."""


class TemplateBudgetError(TemplateRefusedError):
    """A chat template that does more than a prompt can need."""


class _Generation(Extension):
    """`{% generation %}`, which marks what the assistant says and changes nothing."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """Jinja with a budget."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols], optimized=False)
        self.steps = 0
        self.written = 0
        known: Mapping[str, Any] = dict(self.filters)
        self.filters = {name: self._counted(known[name]) for name in _FILTERS}
        self.filters |= {
            "indent": self._indent, "join": self._joined_filter, "replace": self._replaced_filter,
            "tojson": self._json,
        }  # fmt: skip
        tests: Mapping[str, Any] = dict(self.tests)
        self.tests = {name: self._counted(test) for name, test in tests.items()}
        self.globals = {
            "dict": self._dict, "namespace": _Names, "raise_exception": _raise, "range": self._range,
            "strftime_now": self._now,
        }  # fmt: skip

    # Syntax

    def checked(self, source: str) -> nodes.Template:
        tree = self._parse(source, None, None)
        for count, node in enumerate(_walk(tree), 1):
            if count > MOST_NODES:
                raise TemplateRefusedError(f"has more than {MOST_NODES} parts")
            if not isinstance(node, _ALLOWED_NODES):
                raise TemplateRefusedError(f"uses {type(node).__name__.lower()}, which is not possible here")
            if isinstance(node, nodes.For) and node.recursive:
                raise TemplateRefusedError("uses a recursive loop, which is not possible here")
            if isinstance(node, nodes.Filter | nodes.Test):
                known = self.filters if isinstance(node, nodes.Filter) else self.tests
                if node.name not in known:
                    raise TemplateRefusedError(f"uses {node.name[:40]!r}, which is not possible here")
        return tree

    def _generate(self, source: nodes.Template, *args: Any, **kwargs: Any) -> str:
        rewrite(source)
        return super()._generate(source, *args, **kwargs)

    # The budget

    def spend(self, steps: int = 1) -> None:
        """Count steps.

        Raises:
            TemplateBudgetError: there were too many.
        """
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise TemplateBudgetError(f"takes more than {MOST_STEPS} steps")

    def weighed(self, value: Any) -> Any:
        """A value, counted by what it takes to copy, compare or print it."""
        if isinstance(value, str):
            self.spend(1 + len(value) // _CHARACTERS_OF_A_STEP)
            _bound(len(value))
        elif isinstance(value, list | tuple | dict | Namespace):
            self._structure(value)
        else:
            self.spend()
        return value

    def _structure(self, value: Any) -> None:
        total = 0
        waiting: list[tuple[Any, int]] = [(value, 1)]
        while waiting:
            one, depth = waiting.pop()
            if depth > _MOST_DEPTH:
                raise TemplateBudgetError(f"makes lists in lists more than {_MOST_DEPTH} deep")
            self.spend()
            total += 1
            if isinstance(one, str):
                total += len(one)
                self.spend(len(one) // _CHARACTERS_OF_A_STEP)
            elif isinstance(one, dict):
                waiting += ((part, depth + 1) for pair in one.items() for part in pair)
            elif isinstance(one, list | tuple):
                waiting += ((part, depth + 1) for part in one)
            elif isinstance(one, Namespace):
                # Printing one prints what it holds; nothing else may hold one.
                raise TemplateBudgetError("puts a namespace into a list or prints it")
            _bound(total)

    # What the rewritten tree calls

    def counted(self, values: Iterable[Any], cost: int) -> Iterator[Any] | Sequence[Any]:
        """The values of a loop."""
        if isinstance(values, str | list | tuple | dict):
            self.spend(len(values) * (1 + cost))
            return values if not isinstance(values, dict) else list(values)
        return self._counted_values(values, cost=cost)

    def _counted_values(self, values: Iterable[Any], *, cost: int = 1) -> Iterator[Any]:
        for value in values:
            self.spend(1 + cost)
            yield value

    def charged(self, cost: int) -> str:
        """Count the body of a macro or block."""
        self.spend(cost)
        return ""

    def output(self, value: Any) -> Any:
        """A value that is printed."""
        if not isinstance(value, str):
            value = str(self.weighed(value))
        self.spend(1 + len(value) // _CHARACTERS_OF_A_STEP)
        self.written += len(value)
        if self.written > 4 * MOST_CHARACTERS:
            raise TemplateBudgetError(f"writes more than {4 * MOST_CHARACTERS} characters")
        return value

    def joined(self, *values: Any) -> str:
        """`~`"""
        texts = [value if isinstance(value, str) else str(self.weighed(value)) for value in values]
        return str(self.weighed(_bounded_join("", texts)))

    def sliced(self, value: Any, *bounds: Any) -> Any:
        """`value[start:stop:step]`"""
        return self.weighed(value)[slice(*bounds)]

    # What the sandbox asks

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """See `SandboxedEnvironment.call_binop`."""
        self.weighed(left)
        self.weighed(right)
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if operator in {"-", "/", "//", "%", "**"} and not numbers:
            raise SecurityError(f"{operator} is possible for numbers only")
        if operator == "**" and (abs(left) > 10**6 or not 0 <= right <= 16):
            raise TemplateBudgetError("computes large powers")
        if operator == "+" and not numbers:
            _bound(len(left) + len(right))
        if operator == "*" and not numbers:
            text, times = (left, right) if isinstance(right, int) else (right, left)
            if isinstance(times, int):
                self.spend(max(0, times) // _CHARACTERS_OF_A_STEP)
                _bound(len(text) * max(0, times))
        result = super().call_binop(context, operator, left, right)
        if isinstance(result, int) and abs(result) > _MOST_NUMBER:
            raise TemplateBudgetError("computes large numbers")
        return self.weighed(result)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """See `SandboxedEnvironment.is_safe_attribute`: methods by a list, attributes of the loop and of namespaces."""
        for kind, names in _METHODS.items():
            if isinstance(obj, kind):
                return attr in names
        if isinstance(obj, int | float | bytes | Macro):
            return False
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:
        """`str.format` is not in the list."""
        del value

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """See `SandboxedEnvironment.call`."""
        self.spend()
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        given = {name: value for name, value in kwargs.items() if name not in _OF_JINJA}
        if owner is self:
            return obj(*args, **given)
        for value in (*args, *given.values()):
            if not isinstance(value, Namespace):
                self.weighed(value)
        if isinstance(owner, str):
            self.weighed(owner)
            if name == "join":
                return self._joined(owner, *args)
            if name == "replace":
                return self._replaced(owner, *args)
            if name in {"split", "rsplit", "splitlines"}:
                self.spend(len(owner) // 4)
        elif isinstance(owner, list | tuple | dict):
            self.spend(len(owner))
        return super().call(context, obj, *args, **kwargs)

    # Filters and functions

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            for value in args:
                if isinstance(value, str | list | tuple | dict):
                    self.weighed(value)
                    self.weighed(value)  # Sorting and escaping take more than one pass.
            self.spend()
            result = function(*args, **kwargs)
            return self._counted_values(result) if isinstance(result, Iterator) else self.weighed(result)

        return counted

    def _indent(self, text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
        if isinstance(width, int) and width > _MOST_INDENT:
            raise TemplateBudgetError(f"indents by more than {_MOST_INDENT} spaces")
        prefix = width if isinstance(width, str) else " " * int(width)
        lines = (f"{self.weighed(text)}\n").splitlines()
        _bound(len(text) + len(lines) * len(prefix))
        if not lines:
            return text
        rest = [prefix + line if line or blank else line for line in lines[1:]]
        return str(self.weighed("\n".join([(prefix if first else "") + lines[0], *rest])))

    def _joined_filter(self, values: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
        if attribute is not None:
            values = (self.getitem(value, attribute) for value in values)
        return self._joined(d, values)

    def _joined(self, between: str, values: Iterable[Any]) -> str:
        texts = []
        for value in values:
            texts.append(value if isinstance(value, str) else str(self.weighed(value)))
            self.spend()
        return str(self.weighed(_bounded_join(between, texts)))

    def _replaced_filter(self, text: Any, old: str, new: str, count: int | None = None) -> str:
        return self._replaced(str(self.weighed(text)), old, new, -1 if count is None else count)

    def _replaced(self, text: str, old: str, new: str, count: int = -1) -> str:
        found = text.count(old) if count < 0 else min(count, text.count(old))
        self.weighed(text)
        _bound(len(text) + found * max(0, len(new) - len(old)))
        return str(self.weighed(text.replace(old, new, count)))

    def _json(
        self, value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None,
        sort_keys: bool = False,
    ) -> str:  # fmt: skip
        if isinstance(value, Iterator):
            value = list(value)
        self.weighed(value)
        if indent is not None and (not isinstance(indent, int) or not 0 <= indent <= _MOST_INDENT):
            raise TemplateBudgetError(f"indents by more than {_MOST_INDENT} spaces")
        if separators is not None and max(map(len, separators)) > _MOST_INDENT:
            raise TemplateBudgetError(f"separates by more than {_MOST_INDENT} characters")
        text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
        return str(self.weighed(text))

    def _dict(self, *args: Any, **kwargs: Any) -> Any:
        return self.weighed(dict(*args, **kwargs))

    def _range(self, *bounds: int) -> Sequence[int]:
        found = range(*bounds)
        _bound(len(found))
        return found

    def _now(self, pattern: str) -> str:
        if not _DATE_FORMAT.fullmatch(pattern):
            raise SecurityError("strftime_now takes a format of at most 100 characters, without widths")
        return time.strftime(pattern, time.gmtime())


class _Names(Namespace):
    """A namespace without names that begin with an underscore."""

    def __setitem__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            raise SecurityError(f"a namespace cannot hold {name[:40]!r}")
        super().__setitem__(name, value)


def _raise(message: object) -> NoReturn:
    raise TemplateError(str(message))


def _bound(size: int) -> None:
    if size > MOST_CHARACTERS:
        raise TemplateBudgetError(f"makes texts or lists of more than {MOST_CHARACTERS} characters")


def _bounded_join(between: str, texts: Sequence[str]) -> str:
    _bound(sum(map(len, texts)) + len(between) * max(0, len(texts) - 1))
    return between.join(texts)


def _walk(tree: nodes.Node) -> Iterator[nodes.Node]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.iter_child_nodes()
