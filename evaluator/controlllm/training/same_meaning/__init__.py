"""Training of the network that decides whether two texts of a plan and its request have the same meaning."""
