"""Chat completions: types, calls, parsing, rules, and rendering of neutral requests."""
