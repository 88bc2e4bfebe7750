"""Where the wires meet: their contract, their table, and the table of providers."""
