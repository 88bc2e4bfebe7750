"""The library against recorded traffic: `python -m tests.conformance corpus PATH...`.

Every subcommand prints a line for each case that failed and why, and last one JSON object
`{"records": N, "passed": N, "out_of_scope": N, "failed": [ids]}`; it exits with 1 if any failed.
"""
