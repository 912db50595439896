"""Response generation (section 3.3): tell the user what was done and what came of it, once there are results.

By a language model, in one call, or offline as plain sentences. `planarena chain` ends with it; so does the answer to a
request whose history holds the results of executed steps. Suites ask for plans only.
"""

from collections.abc import Mapping, Sequence

from evaluator.controlllm.strategies.asking import ask, text_of
from evaluator.core.canonical_json import JsonValue, dumps
from evaluator.core.language_model import Answer, GenerateCall

_MAX_TOKENS = 512

INSTRUCTIONS = """\
Tools were called to serve a user's request. First answer the request plainly. Then tell in the first person which tools
you used and what each resulted in. Name every file of the results by its full name. If there are no results, say that
you could not do it. Claim nothing that the results do not show."""


def response_call(
    *, request: str, calls: Sequence[str], results: Mapping[str, JsonValue], failures: Sequence[str] = ()
) -> GenerateCall:
    """The call that asks for the response.

    Args:
        request: what the user asked.
        calls: the tool calls that were made, in words.
        results: what each resulted in, by its reference or file.
        failures: what could not be done.
    """
    failed = f"\n\nFailed:\n{_lines(failures)}" if failures else ""
    return ask(
        instructions=INSTRUCTIONS,
        question=f"Request: {request}\n\nTool calls:\n{_lines(calls)}\n\nResults:\n{_lines(_shown(results))}{failed}",
        max_tokens=_MAX_TOKENS,
    )


def read_response(answer: Answer) -> str:
    """The response as the model wrote it."""
    return text_of(answer).strip()


def respond_offline(*, calls: Sequence[str], results: Mapping[str, JsonValue], failures: Sequence[str] = ()) -> str:
    """Sentences that list what was called, what came of it, and what could not be done."""
    failed = f" I could not do: {'; '.join(failures)}." if failures else ""
    if not results:
        return f"I could not do this: there are no results.{failed}"
    count = f"{len(calls)} tool{'' if len(calls) == 1 else 's'}"
    used = f"I called {count}: {'; '.join(calls)}. " if calls else ""
    return f"{used}The results: {'; '.join(_shown(results))}.{failed}"


def _shown(results: Mapping[str, JsonValue]) -> list[str]:
    return [f"{name} is {value if isinstance(value, str) else dumps(value)}" for name, value in results.items()]


def _lines(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "none"
