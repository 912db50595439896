"""Replies of one turn: the actions of a grounding reply, and the subgoals or the stop of a planning reply."""
