"""The shortcut `regex` for `toolmini`, `toolmini-abstain` and `toolworld`: keyword rules, written by hand from public
requests. Sentence by sentence the first rule that matches adds its calls."""

import re
from collections.abc import Mapping
from itertools import pairwise

from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import Plan, Step
from evaluator.core.tools.catalogues import CONTROLLLM

_FILE = r"[\w-]+\.(?:png|mp4)"
_END = re.compile(r'(?<=[.?!"])\s+(?=[A-Za-z])(?!An? [^"]*background)|, and then ')
_REMARKS = (
    r"myself|my neighbour asked|no need to call|is already done|on my own|tomorrow i will|so please do it|"
    r"neither is needed|this and nothing else|the opposite yesterday|leave all other|not urgent|do not ask me|"
    r"both of us|nothing to do with|but it is not needed|does not matter|do without it|none is needed|another purpose"
)
_THING = r"(?:the |an? )?(?P<x>[\w ]+?)"
_AGAIN, _THIRD = _THING.replace("<x>", "<y>"), _THING.replace("<x>", "<z>")
_KINDS = r"(?P<kind>edge|line|hed|scribble|pose|depth|normal|segmentation)"
_IMPOSSIBLE = (
    r"\b(?:email|print|3d|call my|text the|order a|upload the result to my website\.|every frame|each frame|"
    r"seconds off|slow \w|crop [\w.]+mp4|alarm|book me|switch o|delete|pay for|erase the [\w ]+ from [\w.]+mp4)"
    r"|keep this|nothing else is left and|do not name|in no pixel|outside the crop|no pixel of|make no map|nowhere in|"
    r"not with both|none of them|exactly as it was|exactly one .* exactly|and all that surrounds|contains no words|"
    r"all over and|no segment|and none\.|hide from me|unanswered|both larger|attach|my phone|my latest|"
    r"not uploaded|was deleted from my disk this morning, and|upload of \S+ failed\.$|only next week\.$"
)
_Call = tuple["str | _Call", ...]
"""A tool and its arguments: calls, names of groups of the pattern, `F` for the file, or texts."""
_BOX: _Call = ("select_bbox", ("object_detection", "F"), "x")
_MASK: _Call = ("select_mask", ("image_instance_segmentation", "F"), "x")
_SEEN: _Call = ("optical_character_recognition", "F")
_DESCRIBED = "Describe this image in detail."
_RULES: tuple[tuple[str, _Call], ...] = (
    (r"^(?:write|give me a recipe|explain|suggest|what is the difference|what does the word)",
     ("openai_chat_model", "all")),
    (r"mask (?P<mask>[\w-]+_mask\.png)", ("image_inpainting", "F", "mask")),
    (r"(?:question about \S+ |one question: |more thing about this image: |^my picture is \S+ |^look at \S+ )(?P<q>.+)",
     ("image_question_answering", "F", "q")),
    (r"(?:how many|count the|number of|total of|quantity of) (?P<many>[\w ]+?) (?:are|is|in|that|visible|does)\b",
     ("count_objects", _BOX)),
    (rf"(?:using|take|with|along|use) the {_KINDS}.*generate a new image[^:.]*[:.] ?(?P<words>[A-Z].*)",
     ("{kind}_text_to_image", "words", "guide")),
    (rf"(?:using|take|with|use) the {_KINDS}.*shows? (?P<shows>.+)", ("{kind}_text_to_image", "shows", "guide")),
    (r"(?:paint|generate|make|create) (?:a new|an) image: (?P<words>.+)", ("text_to_image", "words")),
    (r"similar to", ("image_to_image", "F")),
    (r"(?:paint|make|generate) an? (?:new )?image (?:that shows|of) (?P<shows>.+?)(?:, and then )?\.?$",
     ("text_to_image", "shows")),
    (r"^paint (?P<shows>.+) for me", ("text_to_image", "shows")),
    (r"describe the new image", ("image_question_answering", "F", "Describe the new image in detail.")),
    (rf"(?:remove|erase) {_THING} from|without {_AGAIN}[;.,]", ("image_inpainting", "F", _MASK)),
    (rf"crop {_FILE} to the box of {_THING}\.|with {_AGAIN}, cropped to its box|box around {_THIRD}, so crop",
     ("image_cropping", "F", _BOX)),
    (rf"crop {_FILE} to {_THING}\.", ("image_cropping", "F", _BOX)),
    (rf"(?:cut out|cut|keep only) {_THING} (?:from|of|out of) ", ("mask_image", "F", _MASK)),
    (rf"mask (?:of|for) {_THING} (?:in|that)|shows {_AGAIN}, return its mask", _MASK),
    (r"segment everything|segmentation map|all its segments", ("segment_anything", "F")),
    (rf"(?:highlight|mark|border around) {_THING} (?:in|that)", ("highlight_object_on_image", "F", _BOX)),
    (rf"(?:locate|position of|coordinates of|location of) {_THING} in", _BOX),
    (rf"(?:the|its|your) {_KINDS} (?:map|result|model|output)", ("image_to_{kind}", "F")),
    (r"(?:names|named entities).*(?:words written|writing of)", ("named_entity_recognition", _SEEN)),
    (r"read .* tag its", ("text_to_tags", _SEEN)),
    (r"tags .*caption", ("text_to_tags", ("image_captioning", "F"))),
    (r"caption .* title", ("title_generation", ("image_captioning", "F"))),
    (r"tag .*mp4", ("text_to_tags", ("video_captioning", "F"))),
    (r"title .*mp4", ("title_generation", ("video_captioning", "F"))),
    (r"written in|the sign in|words that are written", _SEEN),
    (r'title.*"(?P<q>[^"]+)"', ("title_generation", "q")),
    (r'\btags?\b.*"(?P<q>[^"]+)"', ("text_to_tags", "q")),
    (r'name.*"(?P<q>[^"]+)"', ("named_entity_recognition", "q")),
    (r'location.*"(?P<q>[^"]+)"', ("extract_location", "q")),
    (r'(?:sentiment|mood).*"(?P<q>[^"]+)"', ("sentiment_analysis", "q")),
    (r'"(?P<q>[^"]+)"', ("summarization", "q")),
    (r"mp4.*\bin a sentence|in a sentence what happens|describe what happens|what moves", ("video_captioning", "F")),
    (r"which (?:actions?|motion)", ("video_classification", "F")),
    (rf"practise {_THING} in|whether {_AGAIN} happens|any {_THIRD} going on|"
     r"check \S+mp4 for (?:something )?(?P<v>[\w ]+)|does (?P<w>[\w ]+?) happen|show something (?P<u>[\w ]+)",
     ("select_category", ("video_classification", "F"), "x")),
    (rf"images \S+ and \S+ holds {_THING}\?", ("image_question_answering", "F", "holds")),
    (rf"(?:contains?|is there|there is) {_THING} ?(?:in \S+)?[.?]$|is {_AGAIN} present",
     ("select_category", ("image_classification", "F"), "x")),
    (r"(?:all|every|different) (?:the )?(?:objects?|things)|name the main object|recogni[sz]e the|classify the",
     ("image_classification", "F")),
    (r"in one sentence|give me a caption", ("image_captioning", "F")),
    (r"^describe|detailed description|describe this image", ("image_question_answering", "F", _DESCRIBED)),
    (r"^(?:why|how|what|which|who|where)\b", ("openai_chat_model", "all")),
)  # fmt: skip


_OPEN = r"(?:Look at|My picture is) \S+|What does \S+ show\?|[^\"]*(?:text|following|review|negative)\?"
"""Sentences that only introduce the next one."""


def plan(request: PlannerRequest) -> Plan | None:
    """The plan by the rules; None if none of them applies."""
    text, given = request.task.request, request.task.resources
    sentences = [sentence for sentence in _sentences(text) if not re.search(_REMARKS, sentence.lower())]
    said = " ".join(sentences)
    is_missing = any(name not in given for name in re.findall(_FILE, said))
    if request.suite == "toolmini-abstain" and (is_missing or re.search(_IMPOSSIBLE, said.lower())):
        return None
    steps: list[Step] = []
    answers: list[str] = []
    file = ""
    for sentence in sentences:
        here = [name for name in re.findall(_FILE, sentence) if name in given and "_mask" not in name]
        found = ((match, call) for words, call in _RULES if (match := re.search(words, sentence, re.IGNORECASE)))
        match, call = next(found, (None, None))
        file = here[0] if here else file
        if match is None or call is None or ("F" in str(call) and not (file or steps)):
            continue
        for one in here or [file or "s1.image"]:
            answers.append(_made(call, {"F": one, "all": sentence, **_groups(match, file=one)}, steps=steps))
    return Plan(steps=tuple(steps), answers=tuple(answers)) if steps else None


def _made(call: "str | _Call", values: Mapping[str, str], *, steps: list[Step]) -> str:
    """Add the calls, the innermost first, and return the last result."""
    if isinstance(call, str):
        if call == "guide" and f"_{values['kind']}" not in values["F"]:
            made = "segment_anything" if values["kind"] == "segmentation" else f"image_to_{values['kind']}"
            return _made((made, "F"), values, steps=steps)
        return values["F"] if call == "guide" else values.get(call, call)
    name, *arguments = call
    inputs = [_made(argument, values, steps=steps) for argument in arguments]
    tool = CONTROLLLM[str(name).format(**values)]
    number = f"s{len(steps) + 1}"
    outputs = {output: f"{number}.{output}" for output in tool.outputs}
    steps.append(Step(id=number, tool=tool.name, inputs=dict(zip(tool.inputs, inputs, strict=True)), outputs=outputs))
    return next(iter(outputs.values()))


def _groups(match: re.Match[str], *, file: str) -> dict[str, str]:
    """The groups of a pattern, with the object as `x` whichever group has it."""
    found = {name: value.strip() for name, value in match.groupdict().items() if value}
    thing = next((found[name] for name in ("x", "y", "z", "u", "v", "w") if name in found), "")
    if "many" in found:
        thing = re.sub(r"(?:(?<=[su]s)|(?<=x)|(?<=[cs]h))es$|s$", "", found["many"])
    shows = f"The new image shows {found.get('shows', '').rstrip('.')}."
    return {**found, "x": thing, "shows": shows, "holds": f"Is there a {thing} in {file}?"}


def _sentences(text: str) -> list[str]:
    """Sentences; one that only introduces the next one is joined to it."""
    ends = [at.end() for at in _END.finditer(text) if text.count('"', 0, at.start()) % 2 == 0]
    sentences = [text[start:end].strip() for start, end in pairwise([0, *ends, len(text)])]
    joined: list[str] = []
    for sentence in sentences:
        if joined and re.fullmatch(_OPEN, joined[-1]):
            joined[-1] += f" {sentence}"
        else:
            joined.append(sentence)
    return joined
