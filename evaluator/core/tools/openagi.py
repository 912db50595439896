"""The catalogue of OpenAGI: 15 models with their input and output modalities.

Names are those of the released name set; types follow OpenAGI's Tables 1 to 3.
"""

from types import MappingProxyType

from evaluator.core.tools.types import Catalogue, ResourceType, Tool

IMAGE = ResourceType.IMAGE
TEXT = ResourceType.TEXT

_ROWS: tuple[tuple[str, str, str, dict[str, ResourceType], dict[str, ResourceType]], ...] = (
    ("Image Super Resolution", "vision", "Raise the resolution of an image.", {"image": IMAGE}, {"image": IMAGE}),
    ("Image Denoising", "vision", "Remove noise from an image.", {"image": IMAGE}, {"image": IMAGE}),
    ("Image Deblurring", "vision", "Sharpen a blurred image.", {"image": IMAGE}, {"image": IMAGE}),
    ("Colorization", "vision", "Give a grayscale image its colours.", {"image": IMAGE}, {"image": IMAGE}),
    ("Image Classification", "vision", "Name the class of the main object.", {"image": IMAGE}, {"text": TEXT}),
    ("Object Detection", "vision", "Name the objects in an image.", {"image": IMAGE}, {"text": TEXT}),
    ("Image Captioning", "vision", "Describe an image in an English sentence.", {"image": IMAGE}, {"text": TEXT}),
    ("Text to Image Generation", "multimodal", "Draw what an English text says.", {"text": TEXT}, {"image": IMAGE}),
    (
        "Visual Question Answering",
        "multimodal",
        "Answer an English question about an image.",
        {"image": IMAGE, "text": TEXT},
        {"text": TEXT},
    ),
    (
        "Question Answering",
        "language",
        "Answer an English question from an English document.",
        {"document": TEXT, "query": TEXT},
        {"text": TEXT},
    ),
    ("Text Summarization", "language", "Summarise an English text.", {"text": TEXT}, {"text": TEXT}),
    ("Text Generation", "language", "Continue an English text.", {"text": TEXT}, {"text": TEXT}),
    ("Machine Translation", "language", "Translate English text into German.", {"text": TEXT}, {"text": TEXT}),
    ("Fill Mask", "language", "Fill the masked word of an English text.", {"text": TEXT}, {"text": TEXT}),
    ("Sentiment Analysis", "language", "Tell whether a text is positive or negative.", {"text": TEXT}, {"text": TEXT}),
)

OPENAGI = Catalogue(
    name="openagi",
    tools=MappingProxyType(
        {
            name: Tool(
                name=name,
                domain=domain,
                description=description,
                inputs=MappingProxyType(inputs),
                outputs=MappingProxyType(outputs),
            )
            for name, domain, description, inputs, outputs in _ROWS
        }
    ),
)
