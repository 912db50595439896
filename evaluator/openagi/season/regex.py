"""The shortcut `regex` for `openagi-season`: keyword rules, written by hand from public requests."""

import re
from collections.abc import Mapping, Sequence

from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import Plan, Step
from evaluator.core.tools.catalogues import OPENAGI

_REPAIRS = {
    "Image Super Resolution": r"low-res|low(?:-| in )?resol|tiny|very small|thumbnail|stamp|pixel|niedrig|gering|"
    r"winzig|sehr klein|briefmarke|low resolution",
    "Image Denoising": r"nois|grain|gritty|griesel|speckle|rausch|körnig",
    "Image Deblurring": r"blur|fuzzy|unsharp|out[- ]of[- ]focus|unscharf|verschwommen|verwackelt",
    "Colorization": r"gr[ae]y ?scale|black[- ]and[- ]white|monochrom|colou?rless|schwarz-?weiß|farblos|graustufen",
}
_DENIED = (
    r"\b(?:not|neither|none|nor|no|never|already|nicht|weder|kein\w*|bereits|schon|niemand|nobody|memory|market|"
    r"erinnerung|markt|darum|typed|train|friend|colleague|freund\w*|kolleg\w*|took)\b"
)
_FOREIGN = r"french|italian|spanish|japanese|französisch|italienisch|spanisch|japanisch|red box|wooden frame|to music"
_MASKED = r"gap|missing|lacks? |blanked|lücke|fehlt|fehlende\w*|geschwärzt"
_NOUNS = {
    "query": r"question|frage", "document": r"document|report|article|dokument|bericht|artikel",
    "text": r"text|note|passage|paragraph|absatz|notiz",
}  # fmt: skip
_GOALS = {
    "": r"restor|repair|clean version|(?:good|original) quality|way it was meant|wiederher|wiederherzustellen|mängel|"
    r"einwandfrei|restaurier|ursprüngliche",
    "Image Captioning": r"caption|describe|description|what \S+(?: \S+){0,8} shows|bildunterschrift|beschreib|"
    r"satz[^.]*\bwas\b[^.]*zeigt|bildbeschreibung",
    "Image Classification": r"\bclass|main object|category|klasse|hauptobjekt|klassifizier",
    "Object Detection": r"objects|every object|objekte|jedes objekt",
    "Text Summarization": r"summar|sum up|gist|condense|\bis about|fass\w*[^.]*zusammen|zusammenfass|"
    r"kern\b|worum|kurzfassung|inhalt[^.]*satz",
    "Sentiment Analysis": r"positive or negative|mood|sentiment|positiv oder negativ|stimmung",
    "Machine Translation": r"translat|render|into german|german version|übersetz|übertrag|ins deutsche",
    "Text to Image Generation": r"draw|illustrat|paint|(?:generate|create) an? (?:image|picture)|"
    r"into an? (?:picture|image)|zeichne|malen?\b|illustrier|passendes bild|ein bild zu machen",
    "Question Answering": r"answer|reply|antwort",
}  # fmt: skip
_ORDINALS = (
    r"(?:ignore the|ignoriere? \w+) (\w+)|the (\w+) one is (?:only )?there|"
    r"\b(erste|zweite)\b[^.;]*(?:versehen|vergleich)",
    r"(?:use the|mean the|only the|gemeint ist \w+|benutze? \w+|verwende? \w+|nur (?:um )?\w+) (\w+)",
)


def plan(request: PlannerRequest) -> Plan | None:
    """The plan by the rules; None if none of them finds a goal."""
    text = request.task.request.lower()
    if re.search(_FOREIGN, text):
        return None
    said = [sentence for sentence in re.split(r"(?<=[.!?])\s+", text) if not re.search(_DENIED, sentence)]
    names = _inputs(text, request.task.resources)
    steps: list[Step] = []

    def call(tool: str, *values: str) -> str:
        number, outputs = f"s{len(steps) + 1}", OPENAGI[tool].outputs
        inputs = dict(zip(OPENAGI[tool].inputs, values, strict=True))
        steps.append(Step(id=number, tool=tool, inputs=inputs, outputs={name: f"{number}.{name}" for name in outputs}))
        return next(iter(steps[-1].outputs.values()))

    wanted = " ".join(said)
    goals = sorted((found.start(), tool) for tool, words in _GOALS.items() if (found := re.search(words, wanted)))
    tools = [tool for _, tool in goals]
    if "query" in names and "Question Answering" in tools and "image" in names and "document" not in names:
        tools[tools.index("Question Answering")] = "Visual Question Answering"
    needed = {noun for tool in tools for noun in _needs(tool)}
    values = {noun: f"${name}" for noun, name in names.items() if noun in needed}
    for tool, words in _REPAIRS.items():
        if "image" in values and re.search(words, wanted):
            values["image"] = call(tool, values["image"])
    for clause in re.split(r"[.!?;,]| and (?:an? )?| und (?:eine?n? )?", wanted):
        for noun, words in _NOUNS.items():
            is_here = noun in values and values[noun].startswith("$") and re.search(words, clause)
            if is_here and re.search(_MASKED, clause):
                values[noun] = call("Fill Mask", values[noun])
    answers = []
    languages = _languages(wanted, places=[place for place, tool in goals if tool])
    for place, tool in goals:
        real = "Visual Question Answering" if tool == "Question Answering" and tool not in tools else tool
        if not all(noun in values for noun in _needs(real)):
            continue
        result = values["image"] if not real else call(real, *(values[noun] for noun in _needs(real)))
        is_text = real not in ("", "Machine Translation", "Text to Image Generation")
        if is_text and languages.get(place) in ("german", "deutsch"):
            result = call("Machine Translation", result)
        answers.append(result)
    return Plan(steps=tuple(steps), answers=tuple(answers)) if answers else None


def _languages(text: str, *, places: Sequence[int]) -> dict[int, str]:
    """The language of each goal: one each in their order, or the next one before another goal, or the one before."""
    found = [(match.start(), match[0]) for match in re.finditer("german|english|deutsch|englisch", text)]
    if len(found) == len(places):
        return {place: language for place, (_, language) in zip(places, found, strict=True)}
    ends = [*places[1:], len(text)]
    languages = {}
    for start, place, end in zip([0, *places], places, ends, strict=False):
        after = [word for at, word in found if place <= at < end]
        before = [word for at, word in found if start <= at < place]
        languages[place] = (after or before[-1:] or [""])[0]
    return languages


def _needs(tool: str) -> tuple[str, ...]:
    """The inputs of a goal."""
    if tool in {"Question Answering", "Visual Question Answering"}:
        return ("document" if tool.startswith("Q") else "image", "query")
    is_text = tool in {"Text Summarization", "Sentiment Analysis", "Machine Translation", "Text to Image Generation"}
    return ("text",) if is_text else ("image",)


def _inputs(text: str, resources: Mapping[str, str]) -> dict[str, str]:
    """Names of the resources by noun. Of two with one noun the request says which it means."""
    left_out, meant = (next(filter(None, map(_ordinal, re.findall(words, text))), "") for words in _ORDINALS)
    nth = meant or {"1": "2", "2": "1"}.get(left_out, "1")
    return {
        noun: next((name for name in resources if name == f"{noun}_{nth}"), noun)
        for noun in ("image", "text", "document", "query")
        if any(name.partition("_")[0] == noun for name in resources)
    }


def _ordinal(found: str | tuple[str, ...]) -> str:
    word = "".join(found)
    return "1" if word.startswith(("first", "erste")) else "2" if word.startswith(("second", "zweite")) else ""
