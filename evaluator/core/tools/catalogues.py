"""The catalogues of OpenAGI and ControlLLM.

OpenAGI has 15 models. Names are those of the released name set; types follow OpenAGI's Tables 1 to 3.

ControlLLM has 60 tools, and `mask_image`, which its paper lists and its benchmarks need. Names, domains and signatures
are those of the released tool list, with the types' `image.` prefix left out (`image.mask` is `mask`). `speech_to_text`
comes from the released agents' list, `mask_image` from the paper's appendix, Table A11. Where the paper spells a name
in another way, that spelling is an alias. The paper's `audio_to_Audio` has no counterpart: no released tool makes audio
from audio.
"""

from collections.abc import Mapping
from types import MappingProxyType

from evaluator.core.tools.types import Catalogue, ResourceType, Tool

_Table = Mapping[str, tuple[tuple[str, str, str], ...]]
"""By domain, one line per tool: name, description, signature. In a signature `mask` means `mask: mask`."""

_OPENAGI: _Table = {
    "vision": (
        ("Image Super Resolution", "Raise the resolution of an image.", "image -> image"),
        ("Image Denoising", "Remove noise from an image.", "image -> image"),
        ("Image Deblurring", "Sharpen a blurred image.", "image -> image"),
        ("Colorization", "Give a grayscale image its colours.", "image -> image"),
        ("Image Classification", "Name the class of the main object.", "image -> text"),
        ("Object Detection", "Name the objects in an image.", "image -> text"),
        ("Image Captioning", "Describe an image in an English sentence.", "image -> text"),
    ),
    "multimodal": (
        ("Text to Image Generation", "Draw what an English text says.", "text -> image"),
        ("Visual Question Answering", "Answer an English question about an image.", "image, text -> text"),
    ),
    "language": (
        (
            "Question Answering",
            "Answer an English question from an English document.",
            "document: text, query: text -> text",
        ),
        ("Text Summarization", "Summarise an English text.", "text -> text"),
        ("Text Generation", "Continue an English text.", "text -> text"),
        ("Machine Translation", "Translate English text into German.", "text -> text"),
        ("Fill Mask", "Fill the masked word of an English text.", "text -> text"),
        ("Sentiment Analysis", "Tell whether a text is positive or negative.", "text -> text"),
    ),
}

_CONTROLLLM: _Table = {
    "visual-question-answering": (
        ("image_question_answering", "Answer a question about an image.", "image, text -> response: text"),
    ),
    "question-answering": (
        ("get_weather", "Look up the weather at a place.", "location -> result: weather"),
        ("get_time", "Tell the current time.", "text -> response: time"),
        ("openai_chat_model", "Answer a question in words.", "input_msg: text -> answer: text"),
    ),
    "image-perception": (
        ("image_captioning", "Describe an image in words.", "image -> text"),
        ("object_detection", "Find all objects in an image and box them.", "image -> object: bbox"),
        ("image_classification", "Name what an image shows.", "image -> category"),
        ("image_instance_segmentation", "Give a labelled mask for each object in an image.", "image -> mask"),
        ("image_segmentation_by_mask", "Segment the region that a mask prompts.", "image, prompt_mask: mask -> mask"),
        ("image_segmentation_by_points", "Segment what the points lie on.", "image, prompt_points: point -> mask"),
        ("segment_anything", "Draw a map of all segments of an image, unlabelled.", "image -> segmentation"),
        ("visual_grounding", "Box the thing in an image that a text names.", "image, query: text -> bbox"),
        ("optical_character_recognition", "Read the writing in an image.", "image -> text"),
    ),
    "image-editing": (
        ("partial_image_editing", "Redraw the masked region as a text says.", "image, mask, prompt: text -> image"),
        ("text_image_editing", "Change an image as an instruction says.", "image, text -> image"),
        ("image_inpainting", "Remove the masked region and fill it with background.", "image, mask -> image"),
        ("highlight_object_on_image", "Draw boxes on an image.", "image, bbox -> result: image"),
        ("image_cropping", "Cut the boxed parts out of an image.", "image, object: bbox -> image"),
        ("mask_image", "Keep only the masked region of an image.", "image, mask -> image"),
    ),
    "image-generation": (
        ("text_to_image", "Draw what a text says.", "text -> image"),
        ("image_to_image", "Draw a variation of an image.", "image -> image"),
        ("line_text_to_image", "Draw what a text says along a line drawing.", "text, line -> image"),
        ("hed_text_to_image", "Draw what a text says along soft edges.", "text, hed -> image"),
        ("scribble_text_to_image", "Draw what a text says over a scribble.", "text, scribble -> image"),
        ("pose_text_to_image", "Draw what a text says in a pose.", "text, pose -> image"),
        ("segmentation_text_to_image", "Draw what a text says by a segment map.", "text, segmentation -> image"),
        ("edge_text_to_image", "Draw what a text says along edges.", "text, edge -> image"),
        ("depth_text_to_image", "Draw what a text says at the depths of a map.", "text, depth -> image"),
        ("normal_text_to_image", "Draw what a text says on a map of surface normals.", "text, normal -> image"),
    ),
    "image-processing": (
        ("image_to_edge", "Trace the edges of an image.", "image -> edge"),
        ("image_to_line", "Trace the straight lines of an image.", "image -> line"),
        ("image_to_hed", "Trace the soft edges of an image.", "image -> hed"),
        ("image_to_scribble", "Turn an image into a rough sketch.", "image -> scribble"),
        ("image_to_pose", "Trace the poses of the people in an image.", "image -> pose"),
        ("image_to_depth", "Estimate how far away each pixel is.", "image -> depth"),
        ("image_to_normal", "Estimate the surface normal at each pixel.", "image -> normal"),
    ),
    "general": (
        (
            "select_category",
            "Keep the categories that a condition names.",
            "category_list: category, condition: text -> target_category_result: category",
        ),
        ("select_bbox", "Keep the boxes with a label.", "bbox_list: bbox, condition: text -> result: bbox"),
        ("select_mask", "Keep the masks with a label.", "mask_list: mask, condition: text -> result: mask"),
        ("count_categories", "Count the categories of a list.", "category_list: category -> length: text"),
        ("count_objects", "Count the boxes of a list.", "bbox_list: bbox -> length: text"),
        ("count_masks", "Count the masks of a list.", "mask_list: mask -> length: text"),
    ),
    "video-perception": (
        ("video_classification", "Name the action that a video shows.", "video -> category"),
        ("video_captioning", "Describe a video in words.", "video -> caption: text"),
    ),
    "video-generation": (
        ("image_audio_to_video", "Make a video of a still image with sound.", "image, audio -> video"),
        ("image_to_video", "Bring an image into motion.", "image -> video"),
        ("text_to_video", "Film what a text says.", "prompt: text -> video"),
    ),
    "video-processing": (
        (
            "video_to_webpage",
            "Build a web page around a video.",
            "video, title, tags, description: text -> html_code: html",
        ),
    ),
    "video-editing": (("dub_video", "Replace the sound of a video.", "video, audio -> video"),),
    "audio-generation": (
        ("text_to_music", "Compose music to a text.", "text -> music: audio"),
        ("text_to_speech", "Speak a text aloud.", "text -> speech: audio"),
    ),
    "audio-perception": (
        ("audio_classification", "Name what an audio clip sounds like.", "audio -> speech: category"),
        ("speech_to_text", "Write down what is spoken.", "speech: audio -> text"),
    ),
    "natural-language-processing": (
        ("text_to_text_generation", "Write a text in reply to a text.", "text -> answer: text"),
        ("title_generation", "Give a text a title.", "text -> title"),
        ("summarization", "Shorten a text to its main points.", "text -> summarized_text: text"),
        ("text_to_tags", "Give a text its tags.", "text -> tags"),
        ("named_entity_recognition", "List the names in a text.", "text -> tags"),
        ("sentiment_analysis", "Tell the mood of a text.", "text -> text"),
        ("extract_location", "Find the place that a text is about.", "text -> location"),
        ("summarize_weather_condition", "Put weather data into words.", "weather -> weather_summary: text"),
    ),
}

_PAPER_SPELLINGS = {
    "openai_chat_model": ("question_answering",),
    "image_instance_segmentation": ("instance_segmentation",),
    "image_segmentation_by_points": ("segment_by_points",),
}


def _types(signature: str) -> MappingProxyType[str, ResourceType]:
    types = {}
    for item in signature.split(","):
        name, _, kind = (part.strip() for part in item.partition(":"))
        types[name] = ResourceType(kind or name)
    return MappingProxyType(types)


def _tools(table: _Table) -> Mapping[str, Tool]:
    tools = {}
    for domain, rows in table.items():
        for name, description, signature in rows:
            inputs, _, outputs = signature.partition("->")
            tools[name] = Tool(
                name=name,
                domain=domain,
                description=description,
                inputs=_types(inputs),
                outputs=_types(outputs),
                aliases=_PAPER_SPELLINGS.get(name, ()),
            )
    return MappingProxyType(tools)


_ARGUMENT_ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("img", "picture", "photo", "input image", "image path", "image url", "image file"), ("image",)
        ),
        **dict.fromkeys(("question", "query"), ("text", "query", "input msg")),
        **dict.fromkeys(("context", "passage", "article"), ("document", "text")),
        **dict.fromkeys(("input text", "sentence", "content"), ("text",)),
        "prompt": ("text", "prompt", "input msg"),
        "message": ("input msg", "text"),
        "input": ("image", "text", "video", "audio", "input msg"),
        **dict.fromkeys(("bboxes", "boxes", "bounding boxes", "bbox"), ("bbox list", "bbox")),
        **dict.fromkeys(("masks", "mask"), ("mask list", "mask")),
        **dict.fromkeys(("categories", "labels", "category"), ("category list",)),
        **dict.fromkeys(("label", "criterion", "class"), ("condition",)),
        **dict.fromkeys(("video path", "clip"), ("video",)),
        **dict.fromkeys(("audio path", "sound"), ("audio", "speech")),
        **dict.fromkeys(("place", "city"), ("location",)),
    }
)
"""Names that models use for arguments, from the schemas of similar tools."""

OPENAGI = Catalogue(name="openagi", tools=_tools(_OPENAGI), argument_aliases=_ARGUMENT_ALIASES)

CONTROLLLM = Catalogue(
    name="controlllm",
    tools=_tools(_CONTROLLLM),
    argument_aliases=_ARGUMENT_ALIASES,
    interchangeable=(
        frozenset({"openai_chat_model", "text_to_text_generation"}),
        # Some requests to find an object want it marked, others cut out, and many leave it open.
        frozenset({"highlight_object_on_image", "image_cropping"}),
    ),
)
