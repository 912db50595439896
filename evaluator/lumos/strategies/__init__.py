"""LUMOS (Yin et al., 2024): planning and grounding modules, and the baselines of its comparison.

- `templates`: the conversations that the modules are trained on
- `examples`: solved tasks in prompts
- `strategy`: the planners
"""
