"""The registry of strategies, and what several of them share. Each paper has its own."""
