"""Agents over the Model Context Protocol (MCP) as planners of suites in turns.

`tools` says which MCP tools an agent gets, `calls` what a call of one means for an episode, `desk` where open turns
wait for their answers, `mailbox` is that place within one process, and `server` speaks the protocol. The trace of an
agent's calls is its plan.

Only `server` and `stdio` import the MCP SDK.
"""
