"""Training planners: `planarena train pretrain|finetune|rltf|table`.

- `corpus`: paraphrased requests with plans; `pretraining`: lilliput-planner, which reads them
- `splits`: which tasks are learnt from; `lessons`, `finetuning`: learning their gold plans
- `episodes`, `reinforce`, `rltf`, `feedback_run`: learning from what plans score
- `study`: the comparison of schemes; `estimator_study`: the pre-registered one of estimators
- `shipping`: planners of a study become shipped weights

Nothing is imported here: most of it needs torch.
"""

__all__: list[str] = []
