"""The version of this library. The build reads it here, and the commands print it."""

VERSION = "0.2.0"
"""A constant: reading the metadata of an installed package takes longer than starting Python."""
