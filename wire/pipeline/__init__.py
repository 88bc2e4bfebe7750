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

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.pipeline.dot import parse as parse
    from wire.pipeline.engine import Ended as Ended
    from wire.pipeline.engine import Engine as Engine
    from wire.pipeline.engine import LintError as LintError
    from wire.pipeline.engine import NodeError as NodeError
    from wire.pipeline.graph import Edge as Edge
    from wire.pipeline.graph import Graph as Graph
    from wire.pipeline.graph import Node as Node
    from wire.pipeline.handlers import Visit as Visit
    from wire.pipeline.linting import Finding as Finding
    from wire.pipeline.linting import lint as lint
    from wire.pipeline.linting import summary as summary
    from wire.pipeline.node_types import Attribute as Attribute
    from wire.pipeline.node_types import NodeType as NodeType
    from wire.pipeline.node_types import NodeTypes as NodeTypes

_NAMES = {
    "wire.pipeline.dot": ("parse",),
    "wire.pipeline.engine": ("Ended", "Engine", "LintError", "NodeError"),
    "wire.pipeline.graph": ("Edge", "Graph", "Node"),
    "wire.pipeline.handlers": ("Visit",),
    "wire.pipeline.linting": ("Finding", "lint", "summary"),
    "wire.pipeline.node_types": ("Attribute", "NodeType", "NodeTypes"),
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names("wire.pipeline", _NAMES)
