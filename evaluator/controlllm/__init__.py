"""ControlLLM (Liu et al., 2023): suites, judge, strategies, chain, training, and the systems it is compared with."""
