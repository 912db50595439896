"""Training planners: `planarena train pretrain|finetune|rltf|table`.

- `corpus`: paraphrased requests with plans, which pretraining reads
- `model`, `tokens`, `pretraining`: lilliput-planner itself
- `splits`: which tasks are learnt from; `lessons`, `supervised`, `finetuning`: learning their gold plans
- `episodes`, `estimators/`, `reinforce`, `rltf`, `feedback_run`, `curves`: learning from what plans score
- `lora`: training few parameters
- `study`, `table`: the comparison of schemes; `shipping`: planners of a study become shipped weights

Nothing is imported here: most of it needs torch.
"""

__all__: list[str] = []
