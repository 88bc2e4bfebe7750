"""Vendor-neutral values: messages, requests, replies and the events of a streamed reply."""
