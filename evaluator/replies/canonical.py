"""Parser for the canonical form `plan/1`.

Grammar (JSON)::

    plan    = {"steps": [step, ...], "answers"?: [reference, ...], "subgoals"?: [text, ...] | null}
    step    = {"id": text, "tool": text, "inputs": {argument: value, ...}, "outputs"?: {name: reference, ...}}
    value   = "$" resource | reference | literal text

An argument that the tool does not have counts as in the other forms (`evaluator.replies.actions`, rule 3). Without
`outputs`, the tool's outputs are named `<id>.<output>`. `answers` may be omitted if the request does not specify its
answers: these are then the outputs that no step uses. Remarks, such as `thought` or `confidence`, and keys that begin
with `_`, `$` or `@`, such as `$schema`, are ignored, and so is any other unknown key whose value is no object or list,
unless its name is like one of the grammar's. All of this is recorded as tolerated.
"""

from collections.abc import Mapping
from typing import Any

from evaluator.core.naming import similar_names
from evaluator.core.plans.literals import MAX_ANSWERS, a_list, a_text, kind_of, load_json, refuse_too_many, short
from evaluator.core.plans.model import ParsedPlan, Plan, PlanContext, PlanSyntaxError, Step
from evaluator.replies.actions import named_arguments, unused_outputs

FORM = "plan/1"
_PLAN_KEYS = frozenset({"steps", "answers", "subgoals", "version"})
_STEP_KEYS = frozenset({"id", "tool", "inputs", "outputs"})
REMARKS = frozenset(
    {
        *("thought", "thoughts", "reasoning", "reason", "rationale", "explanation", "analysis", "justification"),
        *("comment", "comments", "description", "note", "notes", "summary", "title", "purpose"),
        *("confidence", "usage", "model", "metadata", "thinking"),
    }
)
"""Keys that structured outputs add to a plan or step."""


def is_remark(key: object) -> bool:
    """Whether a key of a plan or step is a remark: one of `REMARKS`, or marked as private or as an annotation."""
    return key in REMARKS or (isinstance(key, str) and key[:1] in ("_", "$", "@"))


def parse_canonical(*, value: object, context: PlanContext) -> ParsedPlan:
    """Parse `plan/1` from a JSON object or its text.

    Raises:
        PlanSyntaxError: it is not `plan/1`; `where` is the JSON path or the position in the text.
    """
    if isinstance(value, str):
        value = load_json(value)
    if not isinstance(value, Mapping):
        raise PlanSyntaxError(f"a plan is a JSON object with steps and answers, not {kind_of(value)}")
    tolerated: list[str] = []
    _refuse_unknown_keys(value=value, known=_PLAN_KEYS, where="plan", tolerated=tolerated)
    steps = tuple(
        _step(raw=raw, where=f"steps[{index}]", context=context, tolerated=tolerated)
        for index, raw in enumerate(a_list(value.get("steps"), "steps"))
    )
    refuse_too_many(steps=steps, where="steps")
    if "answers" not in value and context.expects is None:
        answers = unused_outputs(steps=steps)
        tolerated.append(f"no answers; took the outputs that no step uses: {', '.join(answers) or 'none'}")
    else:
        listed = a_list(value.get("answers"), "answers")
        answers = tuple(a_text(raw, f"answers[{index}]") for index, raw in enumerate(listed))
    if len(answers) > MAX_ANSWERS:
        raise PlanSyntaxError(f"{len(answers)} answers; a plan has at most {MAX_ANSWERS}")
    subgoals = value.get("subgoals")
    if subgoals is not None:
        subgoals = tuple(a_text(raw, f"subgoals[{index}]") for index, raw in enumerate(a_list(subgoals, "subgoals")))
    return ParsedPlan(plan=Plan(steps=steps, answers=answers, subgoals=subgoals), form=FORM, tolerated=tuple(tolerated))


def _step(*, raw: object, where: str, context: PlanContext, tolerated: list[str]) -> Step:
    if not isinstance(raw, Mapping):
        raise PlanSyntaxError(f"a step is a JSON object, not {kind_of(raw)}", where=where)
    _refuse_unknown_keys(value=raw, known=_STEP_KEYS, where=where, tolerated=tolerated)
    step_id = a_text(raw.get("id"), f"{where}.id")
    tool = a_text(raw.get("tool"), f"{where}.tool")
    inputs = _texts(raw.get("inputs"), f"{where}.inputs")
    inputs = named_arguments(inputs, tool=tool, context=context, where=where, tolerated=tolerated)
    if "outputs" in raw:
        outputs = _texts(raw["outputs"], f"{where}.outputs")
    else:
        names = context.catalogue[tool].outputs if tool in context.catalogue else {}
        outputs = {name: f"{step_id}.{name}" for name in names}
        tolerated.append(f"{where} has no outputs; named them {', '.join(outputs.values()) or 'nothing'}")
    return Step(id=step_id, tool=tool, inputs=inputs, outputs=outputs)


def _refuse_unknown_keys(
    *, value: Mapping[Any, object], known: frozenset[str], where: str, tolerated: list[str]
) -> None:
    others = sorted(str(key) for key in value if key not in known)
    for key in others:
        if is_remark(key):
            tolerated.append(f"{where}: ignored the remark {short(key)}")
        elif isinstance(value.get(key), dict | list) or similar_names(key, known):
            raise PlanSyntaxError(f"unknown key {short(key)}; known are {', '.join(sorted(known))}", where=where)
        else:
            tolerated.append(f"{where}: ignored the unknown key {short(key)}")


def _texts(value: object, where: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise PlanSyntaxError(f"must be an object of texts, not {kind_of(value)}", where=where)
    for name, item in value.items():
        if not isinstance(item, str):
            raise PlanSyntaxError(f"must be a text, not {kind_of(item)}", where=f"{where}.{name}")
    return dict(value)
