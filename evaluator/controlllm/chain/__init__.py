"""ControlLLM's whole chain (Liu et al., 2023): decompose, search, choose, execute with state, correct, respond.

- `requests`: chain requests, from plain requests with files and from tasks of suites
- `state`: values by placeholder, the progress of each subtask, and the current plan
- `corrections`: problems at run time, and the resource expert's corrections of arguments
- `conversation`: the stages of one request, without models or threads
- `dialogue`: several requests, each of which may use files and results of earlier ones by name
- `running`: batches the calls of many chains, and runs their plans with the engine
- `command`: the command line, and the JSON transcript of a request

Boards score a planner's plan as submitted, so evaluations do not use this package.
"""
