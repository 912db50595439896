"""Tools: typed signatures that plans may call."""
