"""What is refused, where, and what the message says is allowed instead."""

import pytest

from evaluator.sandbox.programs.checking import check, parse
from evaluator.sandbox.programs.executing import Executor, Request
from evaluator.sandbox.programs.instrumenting import without_annotations
from evaluator.sandbox.programs.wire import Failure, Limits, ProgramError


def refusal(source):
    with pytest.raises(ProgramError) as caught:
        check(source, without_annotations(parse(source)))
    return caught.value


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("x = 1\nimport os\n", 2, "Import is not allowed; copy.deepcopy is available without it."),
        ("x = ''\n\nx.format(1)\n", 3, "The attribute 'format' is not allowed; allowed are: add, append, "),
        ("x = [\n  1,\n  open('a'),\n]\n", 3, "The name 'open' is not allowed; allowed functions are: abs, all, "),
        ("def f():\n    try:\n        pass\n    except: pass\n", 2, "Try is not allowed; test the condition with if."),
        ("class A:\n    pass\n", 1, "Class is not allowed; use functions, lists and dicts."),
        ("__x = 1\n", 1, "The name '__x' is not allowed; names cannot begin with two underscores."),
        ("f(\n  __x=1)\n", 2, "The name '__x' is not allowed; names cannot begin with two underscores."),
        ("def f():\n    global __x\n", 2, "The name '__x' is not allowed; names cannot begin with two underscores."),
        ("@f\ndef g():\n    pass\n", 2, "Decorators are not allowed."),
        ("1j\n", 1, "Constants of type complex are not allowed; allowed are text, numbers, True, False, None."),
        ("f'{1:>99999999}'\n", 1, "This format in an f-string is not allowed; allowed are such as 5, .2f, 03d and >8."),
        ("x.append = 1\n", 1, "The attribute 'append' cannot be assigned or deleted."),
        ("for a, *b in c:\n    pass\n", 1, "A starred target of for is not allowed; unpack it in a statement."),
        ("x[0:1], y = 1, 2\n", 1, "A slice must be the only target of its assignment."),
        ("x[0:1] += [1]\n", 1, "A slice cannot be the target of this assignment; use =."),
        ("x = 1\n\u00e9 = 2\n", 2, "The letters of names must be ASCII."),
        ("f'{\uff41}'\n", 1, "The letters of f-strings and names must be ASCII."),
        ("x = 0x" + "f" * 4000, 1, "Integers of more than 14000 bits are not allowed."),
    ],
)  # fmt: skip
def test_a_refusal_names_the_line_and_what_is_allowed(source, line, words):
    refused = refusal(source)
    assert refused.failure is Failure.REFUSED
    assert refused.line == line
    assert refused.message.startswith(words)


@pytest.mark.parametrize(
    ("source", "failure", "words"),
    [
        ("x = (\n", Failure.SYNTAX, "The program is no Python: '(' was never closed."),
        ("x = 1\0", Failure.SYNTAX, "The program is no Python"),
        ("-" * 50000 + "1", Failure.REFUSED, "The program is nested too deeply."),
        ("+".join(["1"] * 300), Failure.REFUSED, "The program is nested deeper than 200 levels."),
        ("x = 1\n" * 20000, Failure.REFUSED, "The program is too long; at most 64 KiB are allowed."),
    ],
)
def test_texts_that_cannot_be_read(source, failure, words):
    refused = refusal(source)
    assert refused.failure is failure
    assert refused.message.startswith(words)


def test_names_of_builtins_may_be_used_for_one_s_own():
    for source in ("def next(x):\n    return x\nnext(1)\n", "input = 3\ninput\n", "[id for id in [1]]\n"):
        check(source, parse(source))


def test_letters_in_texts_and_comments_may_be_any():
    source = "x = 'gr\u00fcn' # gr\u00fcn\nx\n"
    check(source, parse(source))


@pytest.mark.parametrize(
    ("source", "failure", "line"),
    [
        ("x = 0\nwhile True:\n    x += 1\nx\n", Failure.STEPS, 3),
        ("x = [1]\nx * 300000\n", Failure.SIZE, 2),
        ("x = 'a'\nfor i in range(30):\n    x += x\nx\n", Failure.SIZE, 3),
        ("x = 2\n\nx ** 20000\n", Failure.SIZE, 3),
        ("x = [0]\nfor i in range(40):\n    x = [x, x]\nx\n", Failure.RESULT, None),
        ("def f(n):\n    return f(n)\nf(1)\n", Failure.ERROR, 2),
        ("x = {}\n\nx['k']\n", Failure.ERROR, 3),
        ("'abc'.upper().pop()\n", Failure.ERROR, 1),
        ("len\n", Failure.RESULT, None),
        ("{1: 2}\n", Failure.RESULT, None),
        ("1e999\n", Failure.RESULT, None),
        ("x = 1\n", Failure.ENTRY, None),
    ],
)
def test_a_failure_has_its_class_and_line(source, failure, line):
    found = []
    executor = Executor(library=(), limits=Limits(steps=100_000), language=True)
    executor.run(Request(source, None, ("[]",)), write=found.append)
    assert f'"failure": "{failure}"' in found[0]
    assert f'"line": {"null" if line is None else line}' in found[0]
