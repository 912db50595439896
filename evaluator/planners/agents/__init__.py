"""Agents over the Model Context Protocol (MCP) as planners of suites in turns.

`tools` defines an agent's MCP tools, `calls` maps a call to a turn of the episode, `desk` is the protocol by which open
turns wait for answers, `mailbox` implements it within one process, `evaluation` runs the suite beside it, and `server`
speaks MCP. The trace of an agent's calls is its plan. Only `server` imports the MCP SDK.
"""
