"""Removes what language models write around a plan: reasoning, roles and end marks, code fences, prose.

Grammar::

    reply     = { role } ( channels | { thought | any text } ) [ end-mark any text ]
    thought   = opening-tag any text closing-tag                `<think>`, `[THINK]`, ... (`_TAGS`, `_TOKENS`)
    channels  = { "<|channel|>" name ["to=" tool] "<|message|>" any text }                          gpt-oss
    answer    = "<answer>" any text "</answer>"
    fence     = "```" [label] any text ["```"]

An opening tag without a closing one means that the answer was cut off in the reasoning: there is none. A closing tag
without an opening one ends reasoning that began with the text, because chat templates may write the opening tag. An end
mark ends the reply; whatever a model wrote after it belongs to another turn.

Every removal is recorded as `envelope: <what>`. No function changes the text that it leaves.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from evaluator.core.plans.literals import Scanner
from evaluator.core.plans.model import PlanSyntaxError

_TAGS = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|antthinking|seed:think|mythink"
_TOKENS = {
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|think|>": "<|/think|>",
    "<unused94>": "<unused95>",
    "<|channel>thought": "<channel|>",
}
"""Tokens around reasoning that are no tags, in lower case: Magistral, Kimi, Command, Sky-T1, MedGemma, Gemma 4."""
_OPENING = re.compile(rf"<(?:{_TAGS})(?: [^<>]{{0,80}})?>|" + "|".join(map(re.escape, _TOKENS)), re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{_TAGS})>|" + "|".join(map(re.escape, _TOKENS.values())), re.IGNORECASE)
_BRACKET = re.compile(rf"{_OPENING.pattern}|{_CLOSING.pattern}", re.IGNORECASE)
_ROLE = re.compile(
    r"\s*(?:<\|im_start\|>(?:assistant|model)?|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>"
    r"|<\|(?:assistant|begin_of_text|begin_of_solution|startoftext|start_of_role\|>assistant<\|end_of_role|"
    r"START_RESPONSE|START_OF_TURN_TOKEN|CHATBOT_TOKEN)\|>|<start_of_turn>model|<[|｜]Assistant[|｜]>"
    r"|<[|｜]begin[▁_]of[▁_]sentence[|｜]>|<bos>|<s>|\[/INST\])",
)
_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|end_of_role|end_of_solution|return|eos|EOT|user|"
    r"END_RESPONSE|END_OF_TURN_TOKEN)\|>|<end_of_turn>|<end_code>|<eos>|</s>|<[|｜]end[▁_]of[▁_]sentence[|｜]>|<[|｜]User[|｜]>"
    r"|<\|im_start\|>(?=\s*(?:user|system|tool))|\[INST\]",
)
_END_WITHIN = 40
"""Characters at the end of a text in which its last end mark is; more than the longest mark has."""
_CHANNEL = re.compile(
    r"(?:<\|start\|>(?:assistant)?(?:\s{0,9}to=(?P<before>[\w.-]+))?\s{0,9})?<\|channel\|>\s{0,9}(?P<name>[a-z]+)"
    r"(?:\s{1,9}to=(?P<after>[\w.-]+))?[ \t]{0,9}(?:<\|constrain\|>)?[ \t]{0,9}(?:json|code)?[ \t]{0,9}<\|message\|>"
)
_CHANNEL_END = re.compile(r"<\|(?:end|return|call)\|>")
_BARE_CHANNELS = re.compile(r"\Aanalysis(?=\S|\s)")
_BARE_FINAL = re.compile(r"assistant\s?final")
"""Channels whose special tokens a tokenizer dropped: `analysis...assistantfinal...`."""
_ANSWER = re.compile(r"<(answer|final_answer|final|plan|output|response|result|json|code)>", re.IGNORECASE)
BACKTICKS = r"`{3}"
"""Pattern of a fence of backticks, as it encloses a single value."""
_FENCE_LINE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<label>[\w+#.:-]*)[ \t]*\r?$", re.MULTILINE)
_FENCE = re.compile(r"`{3,}|~{3,}")
_LABEL = re.compile(r"[ \t]*(?:[\w+#.-]*[ \t]*\r?\n|[A-Za-z][\w+#.-]*[ \t]*(?=[{\[(]))")
_FINAL = re.compile(r"\bfinal\b", re.IGNORECASE)
NEGATION = re.compile(
    r"\b(?:not|never|none|neither|nor|avoid|instead|without|wrong|incorrect|no|cannot|\w+n['\u2019]t|unable|impossible"
    r"|unavailable|unsuitable|insufficient|lacks?|sorry|unfortunately|refuse[sd]?|declined?)\b",
    re.IGNORECASE,
)
"""Words that say that what follows is not meant, or refuse."""
_MOST_CANDIDATES = 50
"""Brackets in prose that are tried as the beginning of a JSON value."""
_INVISIBLE = "\ufeff\u200b\u200c\u200d\u200e\u200f\u2060\u2066\u2067\u2068\u2069\u202a\u202b\u202c\u202d\u202e\u00ad"

Notes = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """The content of a code fence."""

    content: str
    label: str
    is_final: bool
    """Whether the words before it call it the final one."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a reply in channels."""

    channel: str
    recipient: str
    """The tool that it calls, or empty."""
    text: str


def opened(text: str) -> tuple[str, Notes]:
    """The content of all envelopes of a text that is not JSON: the final channel, the answer tags, the only code fence.

    Several fences are one if they are equal, or if the words before exactly one call it final.

    Raises:
        PlanSyntaxError: the answer was cut off in the reasoning, or there are different fences.
    """
    text, notes = unwrapped(text)
    blocks, outside = blocks_of(text)
    if not blocks:
        return text, notes
    final = [block for block in blocks if block.is_final]
    contents = {block.content.strip() for block in (final if len(final) == 1 else blocks)}
    if len(contents) > 1:
        raise PlanSyntaxError(f"there are {len(blocks)} code fences, and only one can be the plan")
    left = len(outside.strip())
    notes += ("envelope: fence", *((f"envelope: {left} characters of prose",) if left else ()))
    return (final[0] if len(final) == 1 else blocks[0]).content, notes


def answer_of(text: str) -> str:
    """A short answer without its envelope; empty if it was cut off in the reasoning, or is ambiguous."""
    try:
        return opened(text)[0]
    except PlanSyntaxError:
        return ""


def unwrapped(text: str) -> tuple[str, Notes]:
    """The content of all envelopes of a text that is not JSON, without opening code fences.

    Raises:
        PlanSyntaxError: the answer was cut off in the reasoning.
    """
    text, notes = trimmed(text)
    if messages := channels(text):
        text = "".join(message.text for message in messages if message.channel == "final")
        notes += ("envelope: channels",)
    text, removed = without_reasoning(text)
    notes += removed
    if (answer := answer_in_tags(text)) is not None:
        text, removed = answer
        notes += removed
    return text, notes


def trimmed(text: str) -> tuple[str, Notes]:
    """A text without invisible characters around it, and without end marks at its end."""
    bare = text.strip().strip(_INVISIBLE).strip() if text.strip()[:1] in _INVISIBLE or _ends_invisibly(text) else text
    notes: Notes = () if bare == text else ("envelope: invisible characters",)
    end, cut = len(bare), len(bare)
    while True:
        while end and bare[end - 1].isspace():
            end -= 1
        marks = [mark for mark in _END.finditer(bare, max(0, end - _END_WITHIN), end) if mark.end() == end]
        if not marks:
            return bare[: end if cut < len(bare) else cut], notes
        end = cut = marks[-1].start()
        note = f"envelope: end mark {marks[-1][0]}"
        notes = notes if note in notes else (*notes, note)


def _ends_invisibly(text: str) -> bool:
    return text.rstrip()[-1:] != "" and text.rstrip()[-1:] in _INVISIBLE


def without_reasoning(text: str) -> tuple[str, Notes]:
    """A text without roles, reasoning and later turns.

    Raises:
        PlanSyntaxError: the reasoning never ends: the answer was cut off in it.
    """
    notes: list[str] = []
    start = 0
    while (role := _ROLE.match(text, start)) is not None:
        start = role.end()
        if role[0].rstrip().endswith("|>") and text[start : start + 9] == "assistant":
            start += 9
    if start:
        text = text[start:]
        notes.append("envelope: role")
    if (final := _BARE_FINAL.search(text)) is not None and _BARE_CHANNELS.match(text):
        return text[final.end() :], (*notes, f"envelope: reasoning of {final.start()} characters")
    text, removed = _without_thoughts(text)
    if removed:
        notes.append(f"envelope: reasoning of {removed} characters")
    if (end := _END.search(text)) is not None and text[: end.start()].strip():
        left = len(text) - end.end()
        text = text[: end.start()]
        notes.append(f"envelope: end mark {end[0]}" + (f" and {left} characters after it" if left else ""))
    return text, tuple(notes)


def _without_thoughts(text: str) -> tuple[str, int]:
    parts: list[str] = []
    begin, thought, removed = 0, None, 0
    for bracket in _BRACKET.finditer(text):
        if _OPENING.fullmatch(bracket[0]):
            if thought is None:
                parts.append(text[begin : bracket.start()])
                thought = bracket
            continue
        if thought is None:  # a closing tag alone
            removed += sum(map(len, parts))
            parts.clear()
            removed += bracket.end() - begin
        else:
            removed += bracket.end() - thought.start()
        begin, thought = bracket.end(), None
    if thought is not None:
        raise PlanSyntaxError(f"the reasoning after {thought[0]} never ends, so that there is no answer")
    return "".join((*parts, text[begin:])), removed


def channels(text: str) -> tuple[Message, ...]:
    """The messages of a reply in channels; none if it has no channels.

    Raises:
        PlanSyntaxError: there is text outside of the channels, or only reasoning.
    """
    heads = list(_CHANNEL.finditer(text))
    if not heads:
        return ()
    if text[: heads[0].start()].strip():
        raise PlanSyntaxError("there is text before the first channel")
    messages = []
    for head, end in zip(heads, [*(head.start() for head in heads[1:]), len(text)], strict=True):
        closing = _CHANNEL_END.search(text, head.end(), end)
        body = text[head.end() : closing.start() if closing else end]
        messages.append(Message(channel=head["name"], recipient=head["after"] or head["before"] or "", text=body))
    if all(message.channel == "analysis" and not message.recipient for message in messages):
        raise PlanSyntaxError("the reasoning never ends, so that there is no answer")
    return tuple(messages)


def answer_in_tags(text: str) -> tuple[str, Notes] | None:
    """The content of the only pair of answer tags, such as `<answer>`; None if there is none.

    Raises:
        PlanSyntaxError: there are several.
    """
    openings = list(_ANSWER.finditer(text))
    if not openings:
        return None
    if len(openings) > 1:
        raise PlanSyntaxError(f"there are {len(openings)} answers in tags, and only one can be the plan")
    name = openings[0][1]
    closing = re.compile(rf"</{name}>", re.IGNORECASE).search(text, openings[0].end())
    return text[openings[0].end() : closing.start() if closing else len(text)], (f"envelope: <{name.lower()}>",)


def has_fence(text: str) -> bool:
    """Whether a text may have a code fence."""
    return "```" in text or "~~~" in text


def blocks_of(text: str) -> tuple[tuple[Block, ...], str]:
    """The code fences of a text that are not empty, and the text outside of them.

    A fence is a line of three or more backticks or tildes with an optional label, and ends at a line of as many, or
    with the text. Without any such line, fences inside of lines count.
    """
    if not has_fence(text):
        return (), text
    blocks: list[Block] = []
    outside: list[str] = []
    opening: re.Match[str] | None = None
    begin = 0
    for line in _FENCE_LINE.finditer(text):
        if opening is None:
            outside.append(text[begin : line.start()])
            opening = line
        elif not line["label"] and line["mark"].startswith(opening["mark"]):
            _add(blocks, content=text[opening.end() : line.start()], label=opening["label"], before=outside[-1])
            opening, begin = None, line.end()
    if opening is not None:
        content = text[opening.end() :]
        # Some models close a fence behind the last line.
        content = re.sub(r"(?:`{3,}|~{3,})\s*\Z", "", content)
        _add(blocks, content=content, label=opening["label"], before=outside[-1])
    elif not outside:
        return _inline_blocks(text)
    else:
        outside.append(text[begin:])
    return tuple(blocks), "\n".join(outside)


def _inline_blocks(text: str) -> tuple[tuple[Block, ...], str]:
    pieces = _FENCE.split(text)
    blocks: list[Block] = []
    for before, piece in zip(pieces[::2], pieces[1::2], strict=False):
        label = _LABEL.match(piece)
        is_labelled = label is not None and piece[label.end() :].strip()
        content = piece[label.end() :] if label and is_labelled else piece
        _add(blocks, content=content, label=label[0].strip() if label and is_labelled else "", before=before)
    return tuple(blocks), "\n".join(pieces[::2])


def _add(blocks: list[Block], *, content: str, label: str, before: str) -> None:
    if content.strip():
        last_line = before.strip().rpartition("\n")[2]
        is_final = _FINAL.search(last_line) is not None and NEGATION.search(last_line) is None
        blocks.append(Block(content=content, label=label.lower(), is_final=is_final))


def json_values(text: str) -> list[tuple[str, int]]:
    """The JSON objects in prose, and the lists of objects or lists, as their texts with their positions.

    Raises:
        PlanSyntaxError: one is cut off or broken.
    """
    return [(text[start:end], start) for start, end in _values(text)]


def _values(text: str) -> Iterator[tuple[int, int]]:
    scanner = Scanner(text)
    index, tried = 0, 0
    while tried < _MOST_CANDIDATES:
        starts = [at for at in (text.find("{", index), text.find("[", index)) if at >= 0]
        if not starts:
            return
        tried += 1
        scanner.index = start = min(starts)
        try:
            value = scanner.value()
        except PlanSyntaxError as error:
            # Values inside of a broken one are parts of it, and no plans.
            if _JSON_START.match(text, start):
                message = f"JSON in the text is cut off or broken: {error.message}"
                raise PlanSyntaxError(message, where=scanner.places[start]) from None
            index = start + 1
            continue
        index = scanner.index
        is_list = isinstance(value, list) and any(isinstance(item, dict | list) for item in value)
        if value and (isinstance(value, dict) or is_list):
            yield start, index


_JSON_START = re.compile(r"""\{\s*["']|\[\s*[{\["']""")


def after_prose(text: str) -> Iterator[tuple[str, str]]:
    """The text after the first line, and the text after its first colon; each with what would be left out."""
    line, _, rest = text.strip().partition("\n")
    if rest.strip():
        yield rest, line
    words, _, rest_of_line = line.partition(":")
    if rest_of_line.strip() and not any(mark in words for mark in "{[("):
        yield f"{rest_of_line}\n{rest}" if rest else rest_of_line, f"{words}:"


def server_sent_events(text: str) -> tuple[str, ...] | None:
    """The data of each server-sent event, without the final `[DONE]`; None if the text is no event stream."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not any(line.startswith("data:") for line in lines[:3]):
        return None
    if not all(line.startswith(("data:", "event:", "id:", ":", "retry:")) for line in lines):
        return None
    data = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    return tuple(item for item in data if item != "[DONE]")


def without_format_characters(text: str) -> str:
    """A text without zero-width and direction characters, for names of tools."""
    return "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
