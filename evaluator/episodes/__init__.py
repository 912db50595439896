"""Episodes: how a planner is asked and what happens with its answer, composed from parts.

`parts` asks and reads, `execution` executes and scores, `judgement` judges without executing; `executed` and `judged`
compose them into the two episodes that there are.
"""
