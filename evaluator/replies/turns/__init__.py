"""Replies of one turn: actions of a grounding reply, and subgoals or the stop of a planning reply."""
