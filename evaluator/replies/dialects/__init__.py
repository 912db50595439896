"""Dialects of tool calls: how each service and family of models writes them.

`objects` are calls as JSON objects, by the keys that each service uses; `texts` are calls between the special tokens
and tags of chat templates; `pythonic` are calls in the notation of Python; `action_lines` those of ReAct. A dialect is
chosen by its keys or marks, never because no other one fits.
"""
