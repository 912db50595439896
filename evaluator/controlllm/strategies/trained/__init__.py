"""ControlLLM with trained networks: a decomposer and a scorer that ship with PlanArena.

- `kinds`: the kinds of subtasks of the decomposer, with their forms in the protocol
- `reading`: a request as words, slots and positions
- `linear`: decompositions as short sequences, and their grammar
- `networks`: decomposer and scorer
- `strategy`: the planner

This package imports nothing: the networks need torch, which is loaded with the first request.
"""

__all__: list[str] = []
