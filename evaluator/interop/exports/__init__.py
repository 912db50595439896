"""Results in the formats of other platforms.

- `source`: what is exported: an evaluation with its records and its signature; reads reports
- `every_eval_ever`, `hugging_face`, `atif`: a format each; intervals where it has room
"""

__all__: list[str] = []
