"""Interprets a chat endpoint's response: a completion, a failure, or a reason to retry."""

from dataclasses import dataclass

import httpx

from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Answer, Failure, FailureKind, Usage, is_about_length
from evaluator.network.transient import asked_to_wait, error_in, is_html, is_transient

MAX_PAUSE_SECONDS = 60.0
"""A longer `Retry-After` is reduced to this."""
_OVERLOAD_STATUSES = frozenset({429, 503, 529})
_WRONG_REQUEST = (400, 422)
_TEXT_PARTS = ("text", "output_text")


@dataclass(frozen=True, slots=True)
class Retry:
    """A failed try after which another may succeed."""

    why: str
    too_much: bool
    """Whether the endpoint was overloaded."""
    after: float | None = None
    """Seconds of the endpoint's `Retry-After`."""
    is_alive: bool = False
    """Whether the endpoint answered, only to limit the rate."""
    received: str | None = None

    def __str__(self) -> str:
        return self.why


class PromptTooLongError(ValueError):
    """The body of a 200 response is an error about the length of the prompt."""


class WrongAnswerError(ValueError):
    """The answer is JSON, but violates the protocol."""


class NoChoiceError(WrongAnswerError):
    """The answer has no completion, as from a router whose provider failed: a retry may succeed."""


def read_contents(value: JsonValue) -> tuple[str, str | None, Usage | None]:
    """The text, its finish reason, and the usage if reported.

    The text is empty if the model wrote none, for example because its reasoning reached the limit.

    Raises:
        PromptTooLongError: an error about the length of the prompt instead of choices.
        NoChoiceError: another error, or no choices.
        WrongAnswerError: the value is no chat completion.
    """
    if not isinstance(value, dict):
        raise WrongAnswerError("is no JSON object")
    choices = value.get("choices")
    if not choices:
        error = error_in(value)
        if error is not None and is_about_length(error):
            raise PromptTooLongError(error)
        raise NoChoiceError("has no choices" if error is None else f"is an error and no choice: {error.rstrip('.')}")
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise WrongAnswerError('has no list of "choices"')
    choice = choices[0]
    if (error := error_in(choice)) is not None:
        raise NoChoiceError(f"is an error in place of a choice: {error.rstrip('.')}")
    message, finish = choice.get("message"), choice.get("finish_reason")
    if not isinstance(message, dict):
        raise WrongAnswerError('has no "message" in its first choice')
    return _text(message), finish if isinstance(finish, str) else None, _usage(value.get("usage"))


def _text(message: dict[str, JsonValue]) -> str:
    # A text, null, or a list of parts, of which the texts are joined. Reasoning is left out.
    content = message.get("content")
    if content is None:
        return ""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") in _TEXT_PARTS]
        if all(isinstance(text, str) for text in texts):
            return "".join(map(str, texts))
    if not isinstance(content, str):
        raise WrongAnswerError('has no text as "content" of its message')
    return content


def _usage(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    prompt, completion = value.get("prompt_tokens"), value.get("completion_tokens")
    for count in (prompt, completion):
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 2**31:
            return None
    return Usage(prompt_tokens=int(prompt or 0), completion_tokens=int(completion or 0))


def read_status(response: httpx.Response, *, shown: str) -> Failure | Retry | None:
    """A failure or retry by the status and the beginning of the body; None: the body may be a completion."""
    status = response.status_code
    is_redirect = 300 <= status < 400
    is_page = is_html(shown.encode()) and not is_redirect
    if is_page or is_transient(status):
        after = asked_to_wait(response.headers)
        return Retry(
            f"it answered HTTP {status}{' with an HTML page, as gateways do' if is_page else ''}",
            too_much=status in _OVERLOAD_STATUSES,
            after=None if after is None else min(after, MAX_PAUSE_SECONDS),
            received=shown,
            is_alive=status == httpx.codes.TOO_MANY_REQUESTS,
        )
    if status == httpx.codes.OK:
        return None
    if is_redirect:
        message = (
            f"The chat endpoint answered HTTP {status}, a redirect, which is not followed; give the final address."
        )
    elif status == httpx.codes.REQUEST_ENTITY_TOO_LARGE or (status in _WRONG_REQUEST and is_about_length(shown)):
        message = f"The chat endpoint answered HTTP {status}: the prompt is too long for its model."
        return Failure(kind=FailureKind.PROMPT_TOO_LONG, message=message, received=shown)
    else:
        message = f"The chat endpoint answered HTTP {status}."
    return Failure(kind=FailureKind.REFUSED, message=message, received=shown)


def unavailable(problem: Retry, *, tries: int) -> Failure:
    message = f"The chat endpoint was unavailable in {tries} {'try' if tries == 1 else 'tries'}; the last: {problem}."
    return Failure(kind=FailureKind.UNAVAILABLE, message=message, tries=max(1, tries), received=problem.received)


def with_tries(answer: Answer | Failure, *, tries: int) -> Answer | Failure:
    if not isinstance(answer, Failure):
        return answer
    return Failure(kind=answer.kind, message=answer.message, tries=tries, received=answer.received)
