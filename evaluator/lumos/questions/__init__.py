"""Questions that are answered from a closed corpus of paragraphs: HotpotQA and StrategyQA."""
