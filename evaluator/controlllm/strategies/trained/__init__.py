"""ControlLLM with networks of its own: a decomposer and a scorer that ship with PlanArena.

- `kinds`: the kinds of subtasks that the decomposer knows, and how each is written out
- `reading`: a request as words, slots and positions
- `linear`: decompositions as short sequences, and what may follow in one
- `networks`: decomposer and scorer
- `strategy`: the planner

Nothing is imported here: the networks need torch, which is loaded when the planner is first asked.
"""

__all__: list[str] = []
