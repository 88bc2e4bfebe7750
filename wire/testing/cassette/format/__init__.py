"""The cassette file: its structs, readable bodies, side files, and what is left out."""
