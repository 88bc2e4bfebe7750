"""Anthropic, and other hosts of Messages."""
