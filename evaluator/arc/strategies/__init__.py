"""The multi-expert system for ARC (Tan & Motani 2023): `arc-experts:MODEL` and `arc-single:VIEW:MODEL`.

- `agents`: the 21 combinations of views
- `styles`: what agents are asked, in the paper's words or in `compact` ones for small networks
- `replies`: the JSON of prose and program that they answer with
- `sampling`: one sample, corrected after errors, continued after wrong outputs, and the processes that run its programs
- `strategy`: the options and the conversation
"""

from evaluator.arc.strategies.strategy import Experts, Single

STRATEGIES = (Experts, Single)
