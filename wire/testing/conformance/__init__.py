"""Conformance of clients: what any client, in any language, does in scripted conversations.

`cases/*.json` has the cases of each wire, `loading` their form, `running` runs one, `judging` says
what a client did wrong. `wire conformance` is the command.
"""
