"""OpenAGI (Ge et al., 2023): its requests with gold plans, generated requests, strategies, training."""
