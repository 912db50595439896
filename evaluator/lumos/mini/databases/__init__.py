"""Questions on databases of the miniature world."""
