"""The library against recorded traffic: `python -m tests.conformance corpus PATH...`.

Every subcommand prints a line for each case that failed and why, and last one JSON object
`{"records": N, "passed": N, "out_of_scope": N, "failed": [ids]}`; it exits with 1 if any failed.
`corpus` prints before it what it could judge only in part (empty bodies, errors in a 200, multipart
requests) and the keys that no struct has a field for; with `--every-cut` it cuts each stream before
and in each of its events, without it at two places.
"""
