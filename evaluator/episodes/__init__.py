"""Episodes: how a planner is asked and what happens with its answer, composed from parts.

`parts` asks and reads; `executed` and `execution` execute plans, `judgement` judges them without executing, and `turns`
asks turn by turn.
"""
