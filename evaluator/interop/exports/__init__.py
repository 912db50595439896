"""Results in the formats of other platforms.

- `source`: what is exported: an evaluation with its records and its signature; reads reports
- `every_eval_ever`, `hugging_face`, `atif`: a format each; intervals where it has room
- `tracked_run`: a run of an experiment tracker
- `mlflow_runs`, `wandb_runs`: a tracker each, and only they import its package
"""

__all__: list[str] = []
