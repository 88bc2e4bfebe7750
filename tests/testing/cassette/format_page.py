"""docs/cassette-format.md, made of the structs of a cassette. `python -m tests.pages` writes it."""

from __future__ import annotations

import ast
import itertools
import json
import types
from typing import Any, get_args, get_type_hints

import msgspec

from tests.options import field_texts
from wire.testing.cassette.format import file, json_style, side_files, structs

HEAD = """# The format of cassettes

After this page you can read, write and edit the file of a cassette. `python -m tests.pages` writes
the tables of this page from the structs; the JSON Schema of the format is
`schemas/cassette.schema.json`. [Record and replay](guide/recording.md) shows
how to make one.

A cassette is one JSON document: UTF-8, `\\n` as line end, two blanks for each level. It has one
entry for each request, in the order of sending.

```python
>>> import tempfile
>>> from pathlib import Path
>>> import httpx
>>> from wire.testing import Cassette
>>> def vendor(request):
...     text = 'data: {"text": "05:"}\\n\\ndata: {"text": "12"}\\n\\ndata: [DONE]\\n\\n'
...     return httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})
>>> path = Path(tempfile.mkdtemp(), "tide.cassette.json")
>>> http = Cassette(
...     path, "rewrite", inner=httpx.MockTransport(vendor), redact=["$.metadata.user_id"]
... )
>>> with httpx.Client(transport=http) as client:
...     asked = {"prompt": "High tide in Brest?", "metadata": {"user_id": "u-81"}}
...     _ = client.post("https://llm.example/v1/ask?key=fake-key", json=asked)
>>> print(path.read_text("utf-8"))
{
  "wire_cassette": 1,
  "interactions": [
    {
      "request": {
        "method": "POST",
        "url": "https://llm.example/v1/ask?key=***",
        "headers": {
          "accept": "*/*",
          "content-type": "application/json"
        },
        "redacted": [
          "$.metadata.user_id"
        ],
        "body": {
          "layout": "compact",
          "json": {
            "prompt": "High tide in Brest?",
            "metadata": {
              "user_id": "[redacted]"
            }
          }
        }
      },
      "response": {
        "status": 200,
        "headers": {
          "content-type": "text/event-stream"
        },
        "body": {
          "framing": "lf",
          "layout": "google",
          "events": [
            {
              "json": {
                "text": "05:"
              }
            },
            {
              "json": {
                "text": "12"
              }
            },
            {
              "data": "[DONE]"
            }
          ]
        },
        "end": "eof"
      }
    }
  ]
}
<BLANKLINE>

```

Replay gives the bytes that were received. JSON stands indented, with the name of the style that
gives its bytes back; what no style gives back stands as text, and what is not UTF-8 as base64.

## Edit a cassette

Change a text, delete an event, add or reorder interactions: there is no count, length or checksum
of what is in the file. The indentation and the order of keys do not matter when a cassette is
loaded. A key that is unknown or occurs twice, a value of a wrong type and a file that is not JSON
raise `CassetteError` with the file, the line and the JSON path.

## Sessions

A session over a WebSocket is one interaction: the request that opened it, whose URL begins with
`wss:`, the response with status 101, and `messages` in both directions, in the order in which the
client sent and received them.

```json
{
  "request": {
    "method": "GET",
    "url": "wss://api.openai.com/v1/realtime?model=gpt-realtime"
  },
  "response": {
    "status": 101,
    "close": {
      "code": 1000
    },
    "end": "eof"
  },
  "messages": [
    {
      "direction": "received",
      "body": {
        "json": {
          "type": "session.created"
        }
      }
    },
    {
      "direction": "sent",
      "body": {
        "json": {
          "type": "response.create"
        }
      }
    }
  ]
}
```

A session that the server closed has its `close`; one that ended otherwise has none, and `end` tells
how. Earlier releases refuse a file with a session, since they do not know its keys; files without
one have not changed.

## Side files

Binary content of more than 4 KiB is in a file of its own, in the folder beside the cassette whose
name is that of the cassette and `.files`. That is a body that is not UTF-8, and base64 in a JSON
body or event, such as an image. The cassette has its media type, its length in bytes, and in the
JSON the token `<sha256:...>`:

```json
{
  "files": [
    {
      "sha256": "86d6...",
      "type": "image/png",
      "length": 3145728,
      "coding": "base64"
    }
  ],
  "json": {
    "inlineData": {
      "mimeType": "image/png",
      "data": "<sha256:86d6...>"
    }
  }
}
```

(The page shortens the digests; they have 64 digits.) Move and delete the folder with its cassette.
Where git changes line ends, `*.files/* -text` in `.gitattributes` keeps side files as they are.
A side file that is missing, that is a symlink, or whose content does not have the SHA-256 of its
name raises `CassetteError`. Recording again removes the side files that are no longer needed.

## Redaction

`Cassette(..., redact=["$.metadata.user_id"])` writes `[redacted]` in place of a value, in the
request and in the response. The key `redacted` lists the paths that selected a value. A replay
compares requests in the redacted form, so that another user id matches. In an event stream, a path
begins at the JSON of each event. `$..user_id` selects the key at any depth, `$.messages[*].id` the
key of each item.

A redacted value is a text whatever it was, so redact in a response only what nothing reads.

Credentials in fields of a body, such as the token of an MCP server, are redacted without being
asked for: `mcp_servers[].authorization_token` of Messages, `tools[].authorization` and
`tools[].headers` of Responses, `domain_secrets[].value` of its containers, and in Gemini's tools
the headers of MCP servers, `googleMaps.authConfig` and `apiKey` of searches. Names of headers stay.
A replay matches a request with another token, and so does a file of an earlier release that has the
token: `wire cassette scan` reports it, and whatever reads the file shows `***`.

## Keys

"""


def page() -> str:
    """The text of docs/cassette-format.md."""
    parts = [HEAD]
    for struct in (
        structs.CassetteFile,
        structs.Interaction,
        structs.Request,
        structs.Response,
        structs.Close,
        structs.Message,
        structs.Body,
        structs.Event,
        structs.SideFile,
    ):
        texts = {name: ast.literal_eval(text) for name, text in field_texts(struct).items()}
        hints = get_type_hints(struct)
        parts.append(f"### {struct.__name__}\n\n{_prose(struct.__doc__)}\n\n")
        parts.append("| key | type | meaning |\n|---|---|---|\n")
        for field in msgspec.structs.fields(struct):
            needed = ", required" if field.required else ""
            parts.append(
                f"| `{field.name}` | {_type(hints[field.name])}{needed} | "
                f"{_cell(texts[field.name])} |\n"
            )
        parts.append("\n")
    parts.append("## Values\n\n")
    for name, text in (
        ("end", _text_of(structs, "End")),
        ("direction", _text_of(structs, "Direction")),
        ("framing", _text_of(structs, "Framing")),
        ("layout", _text_of(json_style, "OneLineLayout") + " " + _text_of(json_style, "Layout")),
        ("escapes", _text_of(json_style, "Escapes")),
        ("coding", _text_of(side_files, "Coding")),
    ):
        parts.append(f"**{name}**: {_prose(text)}\n\n")
    return "".join(parts).rstrip("\n") + "\n"


def _type(hint: Any) -> str:
    kinds = [each for each in get_args(hint) if each is not msgspec.UnsetType] or [hint]
    return " or ".join(dict.fromkeys(map(_kind, kinds)))


def _kind(hint: Any) -> str:
    if hint in (structs.End, structs.Framing, json_style.Layout, json_style.OneLineLayout):
        return "text"
    name = getattr(hint, "__name__", str(hint))
    if name == "list":
        return f"list of {_kind(get_args(hint)[0])}"
    known = {
        "str": "text",
        "int": "integer",
        "bool": "true or false",
        "dict": "object of texts",
        "Raw": "JSON",
    }
    if name in structs.__dict__ and isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return f"[{name}](#{name.lower()})"
    return known.get(name, "integer" if get_args(hint) == (1,) else "text")


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|")


def _prose(text: str | None) -> str:
    return " ".join((text or "").split())


def _text_of(module: types.ModuleType, name: str) -> str:
    """The text below the definition of a name."""
    assert module.__file__ is not None
    with open(module.__file__, encoding="utf-8") as source:
        body = ast.parse(source.read()).body
    for node, after in itertools.pairwise(body):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if ast.unparse(target) == name:
                assert isinstance(after, ast.Expr)
                return str(ast.literal_eval(after.value))
    raise AssertionError(name)


def schema_text() -> str:
    """The text of schemas/cassette.schema.json."""
    return json.dumps(file.schema(), indent=2, ensure_ascii=False) + "\n"
