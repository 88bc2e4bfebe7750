"""Clients of today in the cases of `wire conformance`: their adapters, and the page about them."""
