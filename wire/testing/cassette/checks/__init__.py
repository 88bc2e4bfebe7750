"""Findings in recordings: faults, secrets, drift."""
