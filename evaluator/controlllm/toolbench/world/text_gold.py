"""Gold decompositions of requests about writing and texts, in the form of ControlLLM's files."""

from evaluator.controlllm.toolbench.mini.gold import PERCEPTION, VIDEO, Gold

LANGUAGE = "natural-language-processing"


def read(gold: Gold, *, image: str) -> str:
    """The words in a picture."""
    return gold.add(
        description=f"Use the `optical_character_recognition` tool to read the words in {image}.",
        domains=[PERCEPTION],
        args={"image": image},
        gives="text",
        calls=1,
    )


def describe_image(gold: Gold, *, image: str) -> str:
    """A caption as a step on the way."""
    return gold.add(
        description=f"Use the `image_captioning` tool to say in a sentence what {image} shows.",
        domains=[PERCEPTION],
        args={"image": image},
        gives="text",
        calls=1,
    )


def describe_video(gold: Gold, *, video: str) -> str:
    """A caption as a step on the way."""
    return gold.add(
        description=f"Use the `video_captioning` tool to say in a sentence what happens in {video}.",
        domains=[VIDEO],
        args={"video": video},
        gives="text",
        calls=1,
    )


def annotate(gold: Gold, *, text: str, tool: str, gives: str) -> None:
    """A tool's annotation of a text, given by the request or made by a subtask."""
    gold.add(
        description=f"Use the `{tool}` tool on the text.",
        domains=[LANGUAGE],
        args={"text": text},
        gives=gives,
        calls=1,
    )
