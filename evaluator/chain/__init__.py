"""ControlLLM's whole chain (Liu et al., 2023): decompose, search, choose, execute with state, correct, respond.

- `conversation`: the stages of one request, in order; knows neither models nor threads
- `memory`: the state, from placeholders to values
- `progress`: the subtasks on their way, and the plan that they make together
- `problems`: what went wrong at run time
- `corrections`: what the resource expert changes then
- `responding`: the response and the names of result files
- `running`: answers the calls of many chains together, and runs their plans with the engine
- `files`: the files of a request, and those of its results
- `asking`: requests in words and tasks of suites as requests of chains
- `command`: the command line
- `transcript`: everything about one request, as JSON

On boards a planner answers once and its plan is scored as it is: nothing here takes part in an evaluation.
"""

from evaluator.chain.conversation import Finished
from evaluator.chain.running import ChainRequest, ChainRunner

__all__ = ["ChainRequest", "ChainRunner", "Finished"]
