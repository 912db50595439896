"""HuggingGPT, GPT4Tools, VisProg, ViperGPT and Visual ChatGPT as strategies."""
