"""Gold plans as a language model would write them with native tools."""

import json
import random

from evaluator.core.language_model import ToolCall
from evaluator.core.plans.model import Plan
from evaluator.planners.strategies.native_tools import Definitions


def calls_of(plan: Plan, *, tools: Definitions, rng: random.Random) -> tuple[ToolCall, ...]:
    """Parallel calls with ids as services make them, arguments as text, and references by place."""
    places = {
        reference: (f"call_{number}", output)
        for number, step in enumerate(plan.steps, start=1)
        for output, reference in step.outputs.items()
    }
    written = {name: defined for defined, name in tools.catalogue_names.items()}

    def value(text: str) -> str:
        if text not in places:
            return text
        call, output = places[text]
        return rng.choice((call, f"{call}.{output}"))

    return tuple(
        ToolCall(
            id=rng.choice(("call_", "toolu_01", "")) + f"{rng.getrandbits(96):024x}",
            name=written[step.tool],
            arguments=json.dumps(
                {name: value(text) for name, text in step.inputs.items()}, ensure_ascii=rng.random() < 0.5
            ),
        )
        for step in plan.steps
    )
