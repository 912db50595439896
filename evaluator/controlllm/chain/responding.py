"""The last stage (section 3.3): a response that lists the results and their files."""

from collections.abc import Mapping, Sequence

from evaluator.controlllm.chain.memory import Entry, StateMemory
from evaluator.controlllm.chain.progress import Outcome, Progress, actions_of
from evaluator.controlllm.strategies.responding import respond_offline, response_call
from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import GenerateCall
from evaluator.core.values import MediaType

_ENDINGS = {MediaType.PNG: "png", MediaType.CLIP: "apng", MediaType.FINDINGS: "json", MediaType.TEXT: "txt"}


def results_of(*, progress: Sequence[Progress], state: StateMemory) -> dict[str, Entry]:
    """Results that subtasks returned, by file name: `result-1-image.png`, ..."""
    found = [
        entry
        for one in progress
        if one.outcome is Outcome.MADE
        for reference in one.results
        if (entry := state.get(reference)) is not None
    ]
    return {
        f"result-{number}-{entry.type}.{_ENDINGS[MediaType(entry.artefact.media_type)]}": entry
        for number, entry in enumerate(found, start=1)
    }


def failures_of(progress: Sequence[Progress]) -> list[str]:
    """Failures as sentences."""
    return [
        f"{one.planned.searching.subtask.description} ({one.why})"
        for one in progress
        if one.outcome in (Outcome.FAILED, Outcome.DECLINED, Outcome.BLOCKED)
    ]


def response_without_model(*, progress: Sequence[Progress], results: Mapping[str, Entry]) -> str:
    """The response in plain sentences."""
    return respond_offline(calls=_calls(progress), results=_shown(results), failures=failures_of(progress))


def asking_for_response(*, request: str, progress: Sequence[Progress], results: Mapping[str, Entry]) -> GenerateCall:
    """The call that asks for the response."""
    return response_call(
        request=request, calls=_calls(progress), results=_shown(results), failures=failures_of(progress)
    )


def with_all_files(text: str, *, results: Mapping[str, Entry]) -> str:
    """A response that names every file: names that a model omitted are appended."""
    missing = [name for name in results if name not in text]
    return f"{text}\n\nFiles: {', '.join(missing)}." if missing else text


def _calls(progress: Sequence[Progress]) -> list[str]:
    return [
        f"{action.tool.name}({', '.join(f'{name}={value}' for name, value in action.inputs.items())})"
        for place, action in actions_of(progress)
        if progress[place.subtask].outcome is Outcome.MADE
    ]


def _shown(results: Mapping[str, Entry]) -> dict[str, JsonValue]:
    return {name: f"{entry.in_words()} ({entry.type})" for name, entry in results.items()}
