"""Measures what `wire` and other clients cost: `make bench`."""
