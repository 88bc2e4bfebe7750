"""`find_tools`: the search of agents for deferred tools, where the vendor has none."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wire.neutral.deferred import FIND_TOOLS
from wire.neutral.request import Tool
from wire.tools.definition import FunctionTool, tool

MOST_FOUND = 5
"""The most tools that one search returns."""

_NAME_WEIGHT = 3
"""What a word of a name counts, against one of a description."""

_LEAST = 0.25
"""What a tool must have of the best one's score: others share only a word that many have."""

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def find_tool(tools: Callable[[], Iterable[Tool]]) -> FunctionTool:
    """Return the tool `find_tools`, which searches the deferred ones among `tools()`.

    >>> found = find_tool(lambda: [Tool("high_tide", "When the tide is high.", deferred=True)])
    >>> found("tides of a port")
    {'tools': [{'name': 'high_tide', 'description': 'When the tide is high.'}]}
    """

    def find_tools(query: str) -> dict[str, Any]:
        """Find further tools by what they do. Those that are found can be called from your next
        turn on. Search here before you say that you cannot do something.

        Args:
            query: Words for what the tool does, or its name.
        """
        named = [
            {"name": each.name, "description": each.description}
            for each in ranked(query, (each for each in tools() if each.deferred))
        ]
        return {"tools": named} if named else {"tools": [], "hint": "Try other words."}

    return tool(find_tools, name=FIND_TOOLS, read_only=True)


def ranked(query: str, tools: Iterable[Tool], most: int = MOST_FOUND) -> list[Tool]:
    """Return the tools that fit a query best, best first; none that has no word of it.

    >>> tools = [Tool("send_mail", "Sends a message."), Tool("read_mail", "Reads messages.")]
    >>> [each.name for each in ranked("read a message", tools)]
    ['read_mail', 'send_mail']

    Names, descriptions and those of parameters are searched. A rare word counts more than one that
    many tools have.
    """
    listed = list(tools)
    indexes = [_index(each) for each in listed]
    wanted = set(_words(query))
    holders = {word: sum(word in index for index in indexes) for word in wanted}
    rarity = {word: math.log(1 + len(listed) / count) for word, count in holders.items() if count}
    scores = [sum(rarity[word] * index[word] for word in rarity) for index in indexes]
    least = max(scores, default=0) * _LEAST
    order = sorted(range(len(listed)), key=lambda at: -scores[at])
    return [listed[at] for at in order[:most] if scores[at] and scores[at] >= least]


def _index(tool: Tool) -> Counter[str]:
    """Return what each word of a tool counts."""
    index = Counter(dict.fromkeys(_words(" ".join(_texts(tool))), 1))
    index.update(dict.fromkeys(_words(tool.name), _NAME_WEIGHT))
    return index


def _texts(tool: Tool) -> Iterable[str]:
    yield tool.description
    properties = tool.parameters.get("properties")
    for name, schema in properties.items() if isinstance(properties, Mapping) else ():
        yield name
        yield str(schema.get("description", "")) if isinstance(schema, Mapping) else ""


def _words(text: str) -> list[str]:
    """Return the words of a text or a name, in lower case and without a plural's ending.

    >>> _words("listOpen_orders")
    ['list', 'open', 'order']
    """
    words = (word.casefold() for word in _WORD.findall(_HUMP.sub(" ", text)))
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]
