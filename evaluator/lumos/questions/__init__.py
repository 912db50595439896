"""Questions over a closed corpus of paragraphs: HotpotQA and StrategyQA."""
