"""Word problems: exact tools, the tasks of GSM8K and SVAMP, and their gold actions."""
