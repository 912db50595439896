"""The multi-expert system for ARC (Tan & Motani 2023): `arc-experts:MODEL` and `arc-single:VIEW:MODEL`.

- `agents`: the 21 combinations of views; `options`: how many are sampled, and how often
- `prompts`, `replies`: what they are asked, and the JSON of prose and program that they answer with
- `styles`: the paper's prompts, or `compact` ones for small networks
- `sampling`: one sample, corrected after errors, continued after wrong outputs; `composing`: its programs as one
- `trying`: runs programs on the demonstrations; `strategy`: the conversation
"""

from evaluator.arc.strategies.strategy import Experts, Single

STRATEGIES = (Experts, Single)
