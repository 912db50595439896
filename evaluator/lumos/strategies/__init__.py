"""LUMOS (Yin et al., 2024): planning and grounding modules, and the baselines of its comparison.

- `templates`: conversations as the modules were trained on
- `strategy`: the planners
"""
