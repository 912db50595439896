"""Response generation (section 3.3): tell the user what was done and what came of it, once there are results.

By a language model, in one call, or offline as plain sentences. Suites that judge plans execute nothing, so there it is
never called; a request whose history holds the results of executed steps is answered with it.
"""

from collections.abc import Mapping, Sequence

from evaluator.canonical_json import JsonValue, dumps
from evaluator.planners.language_models.protocol import Answer, GenerateCall
from evaluator.planners.strategies.controlllm.asking import ask, text_of

_MAX_TOKENS = 512

INSTRUCTIONS = """\
Tools were called to serve a user's request. First answer the request plainly. Then tell in the first person which tools
you used and what each resulted in. Name every file of the results by its full name. If there are no results, say that
you could not do it. Claim nothing that the results do not show."""


def response_call(*, request: str, calls: Sequence[str], results: Mapping[str, JsonValue]) -> GenerateCall:
    """The call that asks for the response.

    Args:
        request: what the user asked.
        calls: the tool calls that were made, in words.
        results: what each resulted in, by its reference.
    """
    return ask(
        instructions=INSTRUCTIONS,
        question=f"Request: {request}\n\nTool calls:\n{_lines(calls)}\n\nResults:\n{_lines(_shown(results))}",
        max_tokens=_MAX_TOKENS,
    )


def read_response(answer: Answer) -> str:
    """The response as the model wrote it."""
    return text_of(answer).strip()


def respond_offline(*, calls: Sequence[str], results: Mapping[str, JsonValue]) -> str:
    """Sentences that list what was called and what came of it."""
    if not results:
        return "I could not do this: there are no results."
    used = f"I called {len(calls)} tools: {'; '.join(calls)}. " if calls else ""
    return f"{used}The results: {'; '.join(_shown(results))}."


def _shown(results: Mapping[str, JsonValue]) -> list[str]:
    return [f"{name} is {value if isinstance(value, str) else dumps(value)}" for name, value in results.items()]


def _lines(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "none"
