"""Recordings for people: a conversation, a page, a comparison, snapshots."""
