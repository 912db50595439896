"""The length of the shortest plan that a goal's sufficient alternatives allow."""

from collections.abc import Iterator
from itertools import product

from evaluator.controlllm.toolbench.goals.goal import Goal
from evaluator.controlllm.toolbench.goals.parts import From, OneOf, Pattern, ResultOf, Using

_Value = tuple[object, ...]
"""A call with its arguments, or anything else that an argument may be."""
_Calls = frozenset[_Value]


def shortest_length(goal: Goal) -> int:
    """Fewest calls that meet every part of a goal, where equal calls are made once; 0 for a goal without parts.

    Each part may be met by any of its sufficient alternatives. It is a bound for plans as the alternatives spell them:
    a question that happens to ask for two parts at once is not seen.
    """
    choices = [list(_choices(goal, part=part.number)) for part in goal.parts]
    # What earlier parts call matters only as far as later parts may call it too: so few sets are left that all
    # combinations can be compared.
    fewest: dict[_Calls, int] = {frozenset(): 0}
    for place, options in enumerate(choices):
        later: _Calls = frozenset().union(*(calls for further in choices[place + 1 :] for calls in further))
        reached: dict[_Calls, int] = {}
        for (made, count), calls in product(fewest.items(), options):
            kept = (made | calls) & later
            reached[kept] = min(reached.get(kept, count + len(calls - made)), count + len(calls - made))
        fewest = reached
    return min(fewest.values())


def _choices(goal: Goal, *, part: int) -> Iterator[_Calls]:
    """The calls of each way to meet a part, those for the parts that it builds on included."""
    seen: set[_Calls] = set()
    for pattern in goal.alternatives[part]:
        for value in _values(goal, pattern):
            calls = frozenset(_calls(value))
            if calls not in seen:
                seen.add(calls)
                yield calls


def _values(goal: Goal, pattern: Pattern) -> list[_Value]:
    """Everything that a pattern may become."""
    if isinstance(pattern, OneOf):
        return [value for one in pattern.patterns for value in _values(goal, one)]
    if isinstance(pattern, From) and isinstance(pattern.source, ResultOf):
        return [value for one in goal.alternatives[pattern.source.part] for value in _values(goal, one)]
    if isinstance(pattern, Using):
        names = tuple(name for name, _ in pattern.args)
        arguments = product(*(_values(goal, argument) for _, argument in pattern.args))
        return [(Using, pattern.tool, names, chosen) for chosen in arguments]
    return [(pattern,)]


def _calls(value: _Value) -> Iterator[_Value]:
    if value[0] is Using:
        yield value
        for argument in value[3]:  # type: ignore[attr-defined]
            yield from _calls(argument)
