"""Questions about pictures and notices."""
