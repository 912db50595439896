"""What workers, the site and its queue log: their lines, and those of attempts, sent to the site."""
