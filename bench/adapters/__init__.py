"""One module for each client that is measured.

Each has a class with these methods; those for threads are plain functions:

- `stream(wire, model, got)` calls `got` with the text of each chunk, empty for one without text.
- `ask(wire, model)` returns the characters of a whole answer.
- `built(wire, turns)` returns turns as messages of the client; it is a plain function.
- `tell(wire, messages)` sends a conversation and returns the characters of the answer.
- `close()`.
- `client(wire)`, if it makes a client of each wire when it is used.

`WIRES` of a module are those that it speaks. A client is used as its users use it, by public names.
"""
