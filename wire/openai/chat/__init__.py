"""Chat completions: types, calls, reading, rules, and their neutral door."""
