"""Pipelines: graphs of agents, written in DOT. This package parses, lints and runs them.

>>> from wire.pipeline import Engine, lint, parse, summary
>>> graph = parse('''
... digraph hello {
...     start; say [type=set, key=last_output, value="Hi"]; exit
...     start -> say -> exit
... }
... ''')
>>> [str(finding) for finding in lint(graph)], summary(graph)
([], 'OK: pipeline "hello" is valid (3 nodes, 2 edges)')
>>> import anyio
>>> anyio.run(Engine(graph).run).context["last_output"]
'Hi'

Names are imported on first use, so parsing and linting load no HTTP stack.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.pipeline.dot": "parse",
    "wire.pipeline.engine": "Ended Engine LintError NodeError",
    "wire.pipeline.graph": "Edge Graph Node",
    "wire.pipeline.handlers": "Visit",
    "wire.pipeline.linting": "Finding lint summary",
    "wire.pipeline.node_types": "Attribute NodeType NodeTypes",
}

__getattr__, __dir__ = lazy_names("wire.pipeline", _NAMES)
