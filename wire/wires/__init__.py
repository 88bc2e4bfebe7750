"""The interface of the wires, their table, and the table of providers."""
