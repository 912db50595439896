"""Chat templates of submitted models: Jinja programs, rendered with a budget of steps and characters.

The output is that of `transformers` for the templates of published models. What a template can do is a closed list:
kinds of syntax, filters, tests, functions and methods of texts, lists and objects. Every operation that repeats, joins
or copies is counted before it happens, so that no template takes more than a fraction of a second or some megabytes.
Templates are rendered only where submitted models are loaded; `check_template` parses one and renders nothing.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from threading import Lock

from jinja2 import Template, TemplateSyntaxError

from evaluator.sandbox.admission.template_environment import TemplateEnvironment, TemplateRefusedError

_MARK = "CONTINUE_FINAL_MESSAGE_TAG "


def check_template(text: str) -> None:
    """Refuse a chat template that cannot be rendered here. Parses it, and renders nothing.

    Raises:
        TemplateRefusedError: its syntax is wrong, or it uses something that is not in the list.
    """
    try:
        TemplateEnvironment().checked(text)
    except TemplateSyntaxError as error:
        raise TemplateRefusedError(f"has an error in line {error.lineno}: {str(error.message)[:200]}") from None
    except (RecursionError, MemoryError, OverflowError, ValueError) as error:
        if isinstance(error, TemplateRefusedError):
            raise
        raise TemplateRefusedError("is nested too deeply") from None


def render_template(
    text: str, *, messages: Sequence[Mapping[str, str]], special_tokens: Mapping[str, str], continues: bool
) -> str:
    """The prompt that a chat template makes of a conversation.

    Args:
        text: the template.
        messages: objects with `role` and `content`.
        special_tokens: their texts by name, such as `eos_token`.
        continues: whether the last message is the beginning of the answer, else the template adds its heading.

    Raises:
        TemplateRefusedError: it uses something that is not in the list, or (`TemplateBudgetError`) does too much.
        jinja2.TemplateError: it refuses the conversation, or fails.
        Exception: whatever its operations raise.
    """
    rows = [dict(message) for message in messages]
    if continues and rows:
        rows[-1]["content"] += _MARK
    with _rendering:
        environment, template = _compiled(text)
        environment.steps = environment.written = 0
        pieces = template.generate(
            messages=rows, tools=None, documents=None, add_generation_prompt=not continues, **special_tokens
        )
        prompt = "".join(pieces)
    return _cut_off(prompt) if continues and rows else prompt


def _cut_off(prompt: str) -> str:
    """The prompt up to the mark at the end of its last message, which is to be continued."""
    before, found, after = prompt.rpartition(_MARK.strip())
    if not found:
        raise TemplateRefusedError("does not write the last message, which is to be continued")
    # A template that trims messages has taken the mark's space away, and would have taken the message's.
    return before if after.startswith(" ") else before.rstrip()


_rendering = Lock()
"""An environment counts for one rendering at a time."""


@lru_cache(maxsize=8)
def _compiled(text: str) -> tuple[TemplateEnvironment, Template]:
    check_template(text)
    environment = TemplateEnvironment()
    return environment, environment.from_string(text)
