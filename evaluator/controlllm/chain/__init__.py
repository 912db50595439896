"""ControlLLM's whole chain (Liu et al., 2023): decompose, search, choose, execute with state, correct, respond.

- `conversation`: the stages of one request, in order; knows neither models nor threads
- `memory`: the state, from placeholders to values
- `progress`: the state of each subtask, and the plan that their solutions form
- `declining`: subtasks that no tool is for
- `problems`: problems at run time
- `corrections`: the resource expert's corrections of arguments
- `responding`: the response, and the names of result files
- `running`: answers the calls of many chains together, and runs their plans with the engine
- `files`: input files and result files
- `asking`: makes chain requests from plain requests and from tasks of suites
- `command`: the command line
- `transcript`: everything about one request, as JSON

Boards score a planner's plan as submitted: nothing here takes part in an evaluation.
"""
