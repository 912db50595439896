"""`planarena doctor`: whether the experts of a profile load on a device, repeat, and stay within what it declares."""
