"""ControlLLM's whole chain (Liu et al., 2023): decompose, search, choose, execute with state, correct, respond.

- `requests`: chain requests, from plain requests with files and from tasks of suites
- `state`: values by placeholder, the state of each subtask, and the plan that their solutions form
- `corrections`: problems at run time, and the resource expert's corrections of arguments
- `conversation`: the stages of one request, in order; knows neither models nor threads
- `running`: answers the calls of many chains together, and runs their plans with the engine
- `command`: the command line, and everything about one request as JSON

Boards score a planner's plan as submitted: nothing here takes part in an evaluation.
"""
