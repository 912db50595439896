"""Log formats of workers, the site and its queue, and sending the logs of attempts to the site."""
