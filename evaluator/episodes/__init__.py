"""Episodes: the path from a task to its result record.

`parts` queries planners and parses their plans; `executed` and `execution` run plans, `judgement` scores them without
running them, and `turns` runs multi-turn episodes.
"""
