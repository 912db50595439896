"""Room on the disks of the site."""
