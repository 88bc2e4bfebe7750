"""Random inputs for each reader of foreign bytes: `python -m tests.fuzz` (R-44, R-08, R-11)."""
