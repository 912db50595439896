"""The chart's own containers as processes on this machine, while what they depend on goes away and comes back."""
