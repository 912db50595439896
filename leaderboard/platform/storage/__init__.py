"""Availability of the site's disks and bucket."""
