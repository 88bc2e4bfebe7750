"""Builders for the bodies in `refused_contents`, `refused_rest` and `refused_nearly`, which break
or nearly break one rule each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from wire.core.provider import Provider
from wire.providers import PROVIDERS

Body = dict[str, Any]

GO: Body = {"role": "user", "parts": [{"text": "go"}]}
HELLO: Body = {"role": "model", "parts": [{"text": "hello"}]}
# Base64 of the documented placeholder, and of bytes that begin like a signature of Gemini.
DUMMY = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
SIGNED = "CkkBdGlkZXBvb2wvc2lnbmVk+A=="
PNG = "iVBORw0KGgo="
SOUND: Body = {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}}
IMAGE: Body = {"inlineData": {"mimeType": "image/png", "data": PNG}}

FLASH2, FLASH25, PRO25, LITE25 = (
    "gemini-2.0-flash",
    "gemini-2.5-flash",
    "gemini-2.5-pro",
    "gemini-2.5-flash-lite",
)
FLASH3, PRO31, FLASH35, FLASH36, FLASH37 = (
    "gemini-3-flash-preview",
    "gemini-3.1-pro-preview",
    "gemini-3.5-flash",
    "gemini-3.6-flash",
    "gemini-3.7-flash",
)
GEMMA = "gemma-3-27b-it"
ANY = ""


class Hit(NamedTuple):
    """A body that breaks a rule, and the expected violation: path, severity, and (part of) the
    server's text.
    """

    rule: str
    body: Body
    model: str
    path: str
    words: str
    host: str = "gemini"
    severity: str = "error"
    version: str = "v1beta"
    endpoint: str = "generateContent"


class Miss(NamedTuple):
    """A body that nearly breaks the rule, or whose model or host does not have the rule."""

    rule: str
    body: Body
    model: str
    host: str = "gemini"
    version: str = "v1beta"
    endpoint: str = "generateContent"


def host_row(host: str, version: str = "v1beta") -> Provider:
    """The provider row of `gemini` or `vertex`, for this version of the API."""
    name = {"gemini": "gemini", "vertex": "gemini@vertex"}[host]
    return msgspec.structs.replace(PROVIDERS[name], version=version)


def said(*turns: Body, **fields: Any) -> Body:
    return {"contents": list(turns) or [GO], **fields}


def call(name: str = "f", signature: str | None = SIGNED, **fields: Any) -> Body:
    part: Body = {"functionCall": {"name": name, "args": {}, **fields}}
    return part if signature is None else {**part, "thoughtSignature": signature}


def result(name: str = "f", **fields: Any) -> Body:
    return {"functionResponse": {"name": name, "response": {"result": "ok"}, **fields}}


def model(*parts: Body) -> Body:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Body) -> Body:
    return {"role": "user", "parts": list(parts)}


def talk(calls: list[Body], *after: Body, **fields: Any) -> Body:
    """A request with a question, a turn of calls, and the turns after it."""
    return said(GO, model(*calls), *after, **fields)


def tools(*declarations: Body, **beside: Any) -> list[Body]:
    return [
        {"functionDeclarations": list(declarations)},
        *({name: value} for name, value in beside.items()),
    ]


def function(parameters: Body | None = None, name: str = "f", **fields: Any) -> Body:
    return {"name": name, **({} if parameters is None else {"parameters": parameters}), **fields}


def schema(node: Body, key: str = "parameters") -> Body:
    """A request with a function that has one parameter of this schema."""
    return said(tools=tools({"name": "f", key: {"type": "OBJECT", "properties": {"p": node}}}))


def root(parameters: Body, **fields: Any) -> Body:
    return said(tools=tools(function(parameters)), **fields)


def json_schema(**fields: Any) -> Body:
    return said(tools=tools({"name": "f", "parametersJsonSchema": {"type": "object", **fields}}))


def config(**fields: Any) -> Body:
    return said(generationConfig=fields)


def thinking(**fields: Any) -> Body:
    return config(thinkingConfig=fields)


def nested(levels: int) -> Body:
    node: Body = {"type": "STRING"}
    for _ in range(levels - 1):
        node = {"type": "OBJECT", "properties": {"c": node}}
    return node


F = "tools[0].functionDeclarations[0]"
P = f"{F}.parameters.properties.p"
SNAKE_P = "tools[0].function_declarations[0].parameters.properties[p]"
ONE = "contents[2].parts[0].functionResponse"
NO_TYPE_LIST = {"type": ["string", "null"]}
BIG_ENUM = {"type": "STRING", "enum": [f"value_{index}" for index in range(24)]}
GRID = {
    "type": "ARRAY",
    "maxItems": 40,
    "items": {"type": "ARRAY", "maxItems": 40, "items": BIG_ENUM},
}
AT_THE_ROOT = {"$ref": "#/$defs/A", "title": "T", "$defs": {"A": {"type": "object"}}}
INVALID = "Request contains an invalid argument."
COUNT = "Please ensure that the number of function response parts is equal"
ENDS = "Requests ending with a model turn are not supported."
