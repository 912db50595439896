"""The response of the chain without a language model: sentences about what ran, its files, and what was not done.

Every sentence is about a step that ran, a result that exists, or a part that was not done.
"""

from collections.abc import Sequence

from evaluator.controlllm.chain.state import Entry, Outcome, Progress, StateMemory
from evaluator.controlllm.strategies.binding import Action
from evaluator.core.tools.types import ResourceType

PHRASES = {
    "image_question_answering": "answered {text} from the picture",
    "get_weather": "looked up the weather",
    "get_time": "looked up the time",
    "openai_chat_model": "answered {text}",
    "image_captioning": "described the picture",
    "object_detection": "boxed the objects",
    "image_classification": "named what the picture shows",
    "image_instance_segmentation": "made a mask of each object",
    "image_segmentation_by_mask": "segmented the region of the mask",
    "image_segmentation_by_points": "segmented what the points lie on",
    "segment_anything": "drew a map of all segments",
    "visual_grounding": "boxed {text}",
    "optical_character_recognition": "read the writing",
    "partial_image_editing": "redrew the masked region as {text} says",
    "text_image_editing": "changed the picture as {text} says",
    "image_inpainting": "removed the masked region and filled it with background",
    "highlight_object_on_image": "drew the boxes on the picture",
    "image_cropping": "cut the boxed parts out",
    "mask_image": "kept only the masked region",
    "text_to_image": "drew a picture of {text}",
    "image_to_image": "drew a variation of the picture",
    "image_to_edge": "traced the edges",
    "image_to_line": "traced the straight lines",
    "image_to_hed": "traced the soft edges",
    "image_to_scribble": "made a rough sketch",
    "image_to_pose": "traced the poses",
    "image_to_depth": "estimated the depths",
    "image_to_normal": "estimated the surface normals",
    "select_category": "kept the categories that {text} names",
    "select_bbox": "kept the boxes called {text}",
    "select_mask": "kept the masks called {text}",
    "count_categories": "counted the categories",
    "count_objects": "counted the boxes",
    "count_masks": "counted the masks",
    "video_classification": "named the action of the video",
    "video_captioning": "described the video",
    "image_audio_to_video": "made a video of the picture and the sound",
    "image_to_video": "animated the picture",
    "text_to_video": "filmed {text}",
    "video_to_webpage": "built a web page around the video",
    "dub_video": "replaced the sound of the video",
    "text_to_music": "composed music for {text}",
    "text_to_speech": "spoke {text} aloud",
    "audio_classification": "named what the clip sounds like",
    "speech_to_text": "wrote down what is spoken",
    "text_to_text_generation": "wrote a text to {text}",
    "title_generation": "gave the text a title",
    "summarization": "shortened the text",
    "text_to_tags": "gave the text tags",
    "named_entity_recognition": "listed the names in the text",
    "sentiment_analysis": "judged the mood of the text",
    "extract_location": "found the place that the text is about",
    "summarize_weather_condition": "put the weather into words",
}
"""What a tool did, by its name; each begins with a verb."""
_MOST = 120


def respond(
    *, progress: Sequence[Progress], state: StateMemory, results: dict[str, Entry], undone: Sequence[str]
) -> str:
    """The response.

    Args:
        progress: the subtasks at the end.
        state: the values that were made.
        results: the results of the subtasks that made theirs, by file name.
        undone: parts of the request without a result that no subtask stands for, with the reason.
    """
    sentences = []
    names = {entry.reference: name for name, entry in results.items()}
    for subtask in progress:
        if subtask.outcome is Outcome.MADE:
            steps = [did(action, state=state) for action in subtask.solution]
            joined = steps[0] if len(steps) == 1 else f"{', '.join(steps[:-1])} and {steps[-1]}"
            sentences.append(f"I {joined}.")
            sentences += [_result(names[own], results[names[own]]) for own in subtask.results if own in names]
    sentences += [f"I could not do this: {failure}." for failure in (*failures_of(progress), *undone)]
    return " ".join(sentences) or "I did nothing: I found nothing in the request that asks for a result."


def did(action: Action, *, state: StateMemory) -> str:
    """What a step did, as part of a sentence, with the files that it took."""
    texts = [value for name, value in action.inputs.items() if value and action.tool.inputs[name] is ResourceType.TEXT]
    entry = state.get(texts[0]) if texts else None
    text = (entry.text or texts[0]) if entry is not None else texts[0] if texts else "the text"
    text = text if len(text) <= _MOST else f"{text[:_MOST]}..."
    phrase = PHRASES.get(action.tool.name)
    words = f"called {action.tool.name}" if phrase is None else phrase.format(text=f'"{text}"')
    files = [value for value in action.inputs.values() if value and _is_file(value, state=state)]
    return f"{words} ({', '.join(files)})" if files else words


def _is_file(value: str, *, state: StateMemory) -> bool:
    entry = state.get(value)
    return entry is not None and not entry.maker


def _result(name: str, entry: Entry) -> str:
    words = entry.in_words()
    if entry.text is not None:
        return f'The result, {name}, says: "{words}".'
    return f"The result is {name}: {words}." if words else f"The result is {name}."


def failures_of(progress: Sequence[Progress]) -> list[str]:
    """What was not done and why."""
    return [
        f'"{_said(subtask.subtask.description)}", because {subtask.why}'
        for subtask in progress
        if subtask.outcome in (Outcome.FAILED, Outcome.DECLINED, Outcome.BLOCKED)
    ]


def _said(description: str) -> str:
    """The words of the request in a description, without the tools that may help."""
    return description.partition(" Tools that may help:")[0].rstrip(" .")
