"""Training planners: `planarena train pretrain|finetune|rltf|table`.

- `corpus`: paraphrased requests with plans; `pretraining`: lilliput-planner, which is trained on them
- `splits`: training and test tasks; `lessons`, `finetuning`: training on gold plans
- `episodes`, `reinforce`, `rltf`, `feedback_run`: training on the scores of plans
- `study`: the comparison of schemes; `estimator_study`: the comparison of estimators; `registered`: the same for
  registered studies
- `shipping`: ships planners of a study

Imports nothing, because most modules need torch.
"""

__all__: list[str] = []
