"""Running the site: backups, monitoring, closing accounts, the demo."""
