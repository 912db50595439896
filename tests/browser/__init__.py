"""Every page of the site, looked at in a browser: accessibility, width, errors, pictures."""
