"""Bounds for everything foreign that is not an HTTP response, which has `wire.core.limits`.

Each reader asks `BOUNDS` where it takes something in, so that nothing behind it needs a bound of
its own. What is over is refused with a path, the bound and what to do.
"""

from __future__ import annotations

import msgspec


class Bounds(msgspec.Struct, frozen=True):
    """The largest schemas, listings, files of configuration and folders that are read.

    >>> BOUNDS.tools
    2000
    """

    schema_values: int = 250_000
    """Values of a JSON Schema, a shared one once for each place. The validator builds so many in
    0.4 s, and nothing else runs meanwhile. An enum of 100,000 values has less."""
    schema_bytes: int = 1024 * 1024
    """Bytes of a JSON Schema as JSON: 250,000 tokens, more than a model reads beside its work."""
    schema_nodes: int = 100_000
    """Schemas in a JSON Schema in which each reference is replaced by what it refers to: two
    references at each of 17 levels are more. The largest ones of recorded tools have 2,000."""
    schema_levels: int = 500
    """Levels of schemas, with references followed. The validator recurses on the stack of the
    thread: a chain of 100,000 references ended the process."""
    inlined: int = 10_000
    """Schemas that are written where a wire has no references. Python builds each of them."""
    pattern_states: int = 30_000
    """States of all patterns of a JSON Schema, with repetitions written out: 0.3 s to build."""
    pattern_steps: int = 5_000
    """Steps of a pattern with look-around or references to groups, on one text. Each of them may
    look at the whole text."""
    checks: int = 20_000_000
    """Steps of one validation, about 10 ns each. No other thread runs meanwhile."""
    pairs: int = 100_000
    """Pairs of a schema and a value that are looked at to count those steps: 0.3 s of Python."""
    name: int = 1_000
    """Characters of the name of a property, a setting or a tool of a server. Errors and notes show
    names, and hosts accept 64."""
    tools: int = 2_000
    """Tools of one MCP server. Hosts accept 128 to 512 in a request."""
    listing_bytes: int = 4 * 1024 * 1024
    """Bytes of the tools of one MCP server as JSON. The largest known servers list 200 kB."""
    pages: int = 1_000
    """Pages of one MCP listing, which may have no end."""
    input_rounds: int = 10
    """Rounds in which one call of an MCP server asks for input, as in the official SDK."""
    inputs: int = 100
    """Requests for input in one of these rounds. A person answers each."""
    input_bytes: int = 1024 * 1024
    """Bytes of one of these requests as JSON. A question of a model holds a conversation."""
    content_parts: int = 2_000
    """Parts of one resource, and messages of one prompt, of an MCP server."""
    content_bytes: int = 64 * 1024 * 1024
    """Bytes of them, base64 as it was sent. No vendor accepts a larger request inline."""
    open_brackets: int = 10_000
    """Brackets of a text that are open at the same time and remembered in a search for credentials,
    150 bytes each. No reader of JSON takes so many."""
    file_bytes: int = 1024 * 1024
    """Bytes of a file of configuration. The reader of TOML needs a second for them."""
    file_values: int = 30_000
    """Values of a file of configuration, each alias of YAML counted with what it repeats."""
    file_depth: int = 100
    """Levels of lists and tables in a file of configuration. People write ten."""
    pipeline_nodes: int = 1_000
    """Nodes of a pipeline, and a third of its edges. Some rules follow all edges from each node:
    half a second for so many. People write ten."""
    yaml_growth: int = 10
    """Size of a recording in YAML, each alias counted with what it repeats, as a multiple of the
    file's. Recorders repeat a body two or three times."""
    digits: int = 4_000
    """Digits of an integer in a file or a schema. Python writes 4,300 at most."""
    searched_entries: int = 50_000
    """Entries of folders that one search looks at: 3 s, in which other threads run."""
    searched_folders: int = 20_000
    """Folders that one search enters."""
    searched_depth: int = 200
    """Levels of folders that one search descends; each level holds a descriptor open, and a process
    may have 256 in all on macOS."""
    searched_bytes: int = 256 * 1024 * 1024
    """Bytes that one search reads."""
    path_segment: int = 512
    """Bytes of an id or a model in the path of a request. The longest ids of vendors have 120."""


BOUNDS = Bounds()
"""The bounds that all readers ask."""
