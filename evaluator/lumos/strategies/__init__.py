"""LUMOS (Yin et al., 2024): planning and grounding modules, and the baselines of its comparison.

- `templates`: the conversations that the modules are trained on
- `strategy`: the planners
"""
