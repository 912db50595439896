"""Is any text of a planner run as code?"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from evaluator.core.planner import PlannerRequest
from evaluator.planners.attacks.base import ActionsOf, Attack, Flaw, Knowledge, PlansOf, Target
from evaluator.planners.attacks.floors import with_every_text

_TRACE = Path(tempfile.gettempdir()) / "planarena-audit-trace"
_CODE = (
    f"__import__('os').system('touch {_TRACE}')",
    f"$(touch {_TRACE})",
    f"`touch {_TRACE}`; touch {_TRACE}",
    f"!!python/object/apply:os.system ['touch {_TRACE}']",
    f"{{{{ cycler.__init__.__globals__.os.system('touch {_TRACE}') }}}}",
    f"'; COPY (SELECT 1) TO PROGRAM 'touch {_TRACE}'; --",
    f"open({str(_TRACE)!r}, 'w').close()",
)


def _breach() -> str:
    """Whether code left its trace, which is removed."""
    if not _TRACE.exists():
        return ""
    _TRACE.unlink()
    return "A text of a plan was run as code: it created a file."


def _as_plan(code: str) -> Callable[[PlannerRequest], object]:
    return lambda _: f"```python\n{code}\n```"


def _as_call(code: str) -> Callable[[PlannerRequest], object]:
    def plan(request: PlannerRequest) -> object:
        tool = request.tools[0]
        inputs = dict.fromkeys(tool.inputs, code)
        steps = [{"id": code, "tool": tool.name, "inputs": inputs, "outputs": dict.fromkeys(tool.outputs, code)}]
        return {"steps": steps, "answers": [code]}

    return plan


def _planning(target: Target, *, make: Callable[[str], Callable[[PlannerRequest], object]], code: str) -> PlansOf:
    del target
    return PlansOf("code", make(code))


def _actions(target: Target) -> ActionsOf:
    tools = list(target.public.catalogue.tools)
    lines = [f"R{number} = {tool}({code})" for number, (tool, code) in enumerate(_pairs(tools), start=1)]
    return ActionsOf("code", lambda _: "; ".join(lines))


def _pairs(tools: list[str]) -> list[tuple[str, str]]:
    return [(tool, code) for tool in tools[:8] for code in (_CODE[0], _CODE[6], _CODE[5])]


FLAW = Flaw(
    name="submitted-code",
    title="Code from submissions",
    description="Is a text of a planner run as code, and what does such code reach?",
    attacks=(
        *(
            Attack(
                name=f"code as {words} {number}",
                description=f"Answers with `{code.replace(str(_TRACE), 'FILE')}` {where}.",
                make=partial(_planning, make=make, code=code),
                breach=_breach,
            )
            for number, code in enumerate(_CODE, start=1)
            for words, where, make in (
                ("a plan", "as its whole plan", _as_plan),
                ("names", "as every name and input of a step", _as_call),
            )
        ),
        Attack(
            name="code as texts",
            description="Gives code as every text of the right tools.",
            make=partial(with_every_text, text=_CODE[0]),
            knows=Knowledge.TOOLS,
            applies=lambda target: not target.in_turns,
            breach=_breach,
        ),
        Attack(
            name="code as actions",
            description="Gives code as the input of each tool in turns.",
            make=_actions,
            applies=lambda target: target.in_turns,
            breach=_breach,
        ),
    ),
)
