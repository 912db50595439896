"""ControlLLM's benchmarks: Tool100, Tool2K, and this repository's own `toolmini` of the same kind."""
