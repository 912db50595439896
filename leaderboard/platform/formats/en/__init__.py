"""For English, the site's only language."""
