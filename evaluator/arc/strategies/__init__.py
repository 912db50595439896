"""The multi-expert system for ARC (Tan & Motani 2023): `arc-experts:MODEL` and `arc-single:VIEW:MODEL`.

- `agents`: the 21 combinations of views
- `styles`: prompts of agents, as in the paper or `compact` for small networks
- `replies`: parser of replies, which are JSON of prose and a program
- `sampling`: one sample, corrected after errors, continued after wrong outputs, and the processes that run its programs
- `strategy`: the options and the conversation
"""

from evaluator.arc.strategies.strategy import Experts, Single

STRATEGIES = (Experts, Single)
