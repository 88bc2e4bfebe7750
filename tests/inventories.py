"""The fields that the vendors' references list, and structs compared with them.

`tests/fixtures/inventories` has one file for each wire: names and types of the fields that the
wire's structs stand for, taken out of the full lists of the references, which are larger and lie
beside some checkouts. `python -m tests.inventories` writes the files anew from there.
"""

from __future__ import annotations

import ast
import json
import re
import types as builtin
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from wire.core.memory import WireStruct

HERE = Path(__file__).parent / "fixtures" / "inventories"
REFERENCES = Path(__file__).parents[2] / "shared" / "contracts"
FULL = {
    "gemini": REFERENCES / "gemini-v1beta.fields.json",
    "openai": REFERENCES / "openai-chat.fields.json",
    "openai.responses": REFERENCES / "openai-responses.fields.json",
    "anthropic": REFERENCES / "anthropic-messages.fields.json",
    "converse": REFERENCES / "bedrock.fields.json",
    "gemini.interactions": REFERENCES / "gemini-interactions.fields.json",
}
NEWER = REFERENCES / "anthropic-messages-2026-11.delta.json"
"""What the SDK of November has beyond Anthropic's list of August, as annotations of Python."""

GEMINI_ROOTS = (
    "GenerateContentRequest",
    "GenerateContentResponse",
    "CountTokensRequest",
    "CountTokensResponse",
    "ListModelsResponse",
    "Model",
    "Status",
    "Empty",
    "Operation",
    "ListOperationsResponse",
    "EmbedContentRequest",
    "EmbedContentResponse",
    "BatchEmbedContentsRequest",
    "BatchEmbedContentsResponse",
    "File",
    "CreateFileRequest",
    "CreateFileResponse",
    "ListFilesResponse",
    "RegisterFilesRequest",
    "RegisterFilesResponse",
    "CachedContent",
    "ListCachedContentsResponse",
    "BatchGenerateContentRequest",
    "AsyncBatchEmbedContentRequest",
    "FileSearchStore",
    "ListFileSearchStoresResponse",
    "UploadToFileSearchStoreRequest",
    "ImportFileRequest",
    "Document",
    "ListDocumentsResponse",
)
"""Messages of Gemini that are sent or received whole."""

ROOTS = {
    "openai": (
        "chat_request",
        "chat_response",
        "chat_chunk",
        "embeddings_request",
        "embeddings_response",
        "models_list",
        "model",
        "error",
        "OpenAIFile",
        "ListFilesResponse",
        "DeleteFileResponse",
        "FileExpirationAfter",
        "Batch",
        "ListBatchesResponse",
    ),
    "openai.responses": (
        "CreateResponse",
        "Response",
        "ResponseStreamEvent",
        "TokenCountsBody",
        "TokenCountsResource",
        "CompactResponseMethodPublicBody",
        "CompactResource",
        "ResponseItemList",
        "CreateConversationBody",
        "UpdateConversationBody",
        "ConversationResource",
        "DeletedConversationResource",
        "ConversationItemList",
    ),
    "anthropic": (
        "message_create",
        "message_create_streaming",
        "message",
        "stream_event",
        "count_tokens_request",
        "count_tokens_response",
        "model_info",
        "error_response",
        "batch",
        "batch_create",
        "batch_individual",
        "usage",
    ),
    "converse": (
        "ConverseRequest",
        "ConverseStreamRequest",
        "ConverseResponse",
        "ConverseStreamEvents",
        "CountTokensRequest",
        "CountTokensResponse",
        "ValidationException",
        "ModelErrorException",
        "ModelStreamErrorException",
    ),
    "gemini.interactions": (
        "CreateModelInteraction",
        "CreateAgentInteraction",
        "Interaction",
        "InteractionSseEvent",
        *(
            f"{space}.{name}"
            for space, names in {
                "agents": "Agent AgentListResponse",
                "environments": "CreateEnvironmentRequest Environment GetEnvironmentFilesResponse"
                " ListEnvironmentsResponse",
                "triggers": "Trigger TriggerCreateParams TriggerUpdate TriggerExecution"
                " ListTriggersResponse ListTriggerExecutionsResponse",
                "webhooks": "Webhook WebhookInput WebhookUpdate WebhookListResponse"
                " RotateSigningSecretRequest WebhookRotateSigningSecretResponse",
            }.items()
            for name in names.split()
        ),
    ),
}
"""The same of the other wires, by the reference's own names for them."""


def inventory(wire: str) -> dict[str, Any]:
    """The file of a wire."""
    read: dict[str, Any] = json.loads((HERE / f"{wire}.json").read_text("utf-8"))
    return read


def fields_of(struct: type[WireStruct]) -> dict[str, Any]:
    """JSON key -> type."""
    hints = typing.get_type_hints(struct)
    return {
        key: hints[name]
        for name, key in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    }


# --- types as the references of OpenAI and Anthropic write them -----------------------------------

_TOKEN = re.compile(r'\s*(enum\([^)]*\)|array\[|map\[string,|"[^"]*"|[\w.]+|[{}\]:?,|])')
_SCALARS: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "false": bool,
    "true": bool,
    "any": Any,
    "datetime": str,
    "Base64FileInput": str,
}

Kind = tuple[str, Any]
"""`("scalar", type)`, `("values", texts)`, `("name", schema)`, `("array", kinds)`,
`("map", kinds)`, `("object", {key: type or kinds})`."""
Schemas = Mapping[str, Any]
"""Name -> its fields with their types, or the type that it is another name for."""


def kinds_of(text: str) -> list[Kind]:
    """The members of a type, names of schemas unopened.

    >>> kinds_of('array[string | Part] | "auto" | null')
    [('array', [('scalar', <class 'str'>), ('name', 'Part')]), ('values', ('auto',))]
    """
    return _union(_TOKEN.findall(text)[::-1])


def _union(tokens: list[str]) -> list[Kind]:
    kinds = _one(tokens)
    while tokens and tokens[-1] == "|":
        tokens.pop()
        kinds += _one(tokens)
    return kinds


def _one(tokens: list[str]) -> list[Kind]:
    token = tokens.pop()
    if token in ("array[", "map[string,"):
        inside = _union(tokens)
        assert tokens.pop() == "]"
        return [("array" if token == "array[" else "map", inside)]
    if token == "{":
        fields = {}
        while tokens[-1] != "}":
            key = tokens.pop()
            while tokens.pop() != ":":
                pass
            fields[key] = _union(tokens)
            if tokens[-1] == ",":
                tokens.pop()
        tokens.pop()
        return [("object", fields)]
    if token == "null":
        return []
    if token in _SCALARS:
        return [("scalar", _SCALARS[token])]
    if token[0] == '"' or token.startswith("enum("):
        listed = token.removeprefix("enum(").removesuffix(")")
        return [("values", tuple(re.findall(r'[^",| ]+', listed)))]
    return [("name", token)]


def opened(kinds: list[Kind], schemas: Schemas) -> list[Kind]:
    """Names replaced by what they stand for; fields of objects stay as they are."""
    found: list[Kind] = []
    for form, inside in kinds:
        if form != "name":
            found.append((form, inside))
        elif isinstance(schemas[inside], str):
            found += opened(kinds_of(schemas[inside]), schemas)
        else:
            found.append(("object", schemas[inside]))
    return found


# --- structs beside schemas -----------------------------------------------------------------------


def alternatives(hint: Any) -> list[Any]:
    """The members of a type hint but for `None`."""
    members = typing.get_args(hint) if isinstance(hint, builtin.UnionType) else (hint,)
    return [each for each in members if each is not type(None)]


def written(hint: Any, depth: str = "") -> set[str]:
    """Every alternative of a hint, at every depth, as `Walk.used` writes them."""
    found = set()
    for each in alternatives(hint):
        found.add(f"{depth}{each}")
        if typing.get_origin(each) in (list, dict):
            inner = depth + ("[]" if typing.get_origin(each) is list else "{}")
            found |= written(typing.get_args(each)[-1], inner)
    return found


class Walk:
    """Structs and schemas walked side by side from the roots.

    A reference has a schema for each role and type, the structs are one for each concept: a struct
    is compared with all schemas that it meets.
    """

    def __init__(self, listed: dict[str, Any], roots: Mapping[str, type[WireStruct]]) -> None:
        self.schemas: Schemas = listed["schemas"]
        self.met: dict[type[WireStruct], set[str]] = {}
        """The keys of the schemas that each struct meets."""
        self.used: dict[tuple[str, str], set[str]] = {}
        """The alternatives of each field's type that a schema has too."""
        self.values: dict[tuple[str, str], set[str]] = {}
        """The texts that a schema lists for a field."""
        self.free: set[tuple[str, str]] = set()
        """Fields that a schema allows any text in."""
        self.lacking: set[str] = set()
        """Fields of which a schema has a type that the struct has not."""
        self._done: set[tuple[str, str]] = set()
        for root, struct in roots.items():
            for _, fields in opened(kinds_of(listed["roots"][root]), self.schemas):
                self.object(fields, struct)

    def object(self, fields: Mapping[str, Any], struct: type[WireStruct]) -> None:
        """Compare an object of the reference with a struct."""
        self.met.setdefault(struct, set()).update(fields)
        if (mark := (repr(fields), struct.__name__)) in self._done:
            return
        self._done.add(mark)
        ours = fields_of(struct)
        for key, kind in fields.items():
            if key in ours:
                kinds = kinds_of(kind) if isinstance(kind, str) else kind
                self.compare(kinds, ours[key], (struct.__name__, key), "")

    def compare(self, kinds: list[Kind], hint: Any, field: tuple[str, str], depth: str) -> None:
        """Find for each kind the alternative of the hint that can hold it."""
        for form, inside in opened(kinds, self.schemas):
            if form == "values":
                self.values.setdefault(field, set()).update(inside)
                form, inside = "scalar", str
            elif form == "scalar" and inside is str:
                self.free.add(field)
            for each in alternatives(hint):
                if form == "scalar" and each is inside:
                    break
                if form == "array" and typing.get_origin(each) is list:
                    self.compare(inside, typing.get_args(each)[0], field, depth + "[]")
                    break
                if form == "map" and typing.get_origin(each) is dict:
                    self.compare(inside, typing.get_args(each)[1], field, depth + "{}")
                    break
                if form == "object" and isinstance(each, type) and issubclass(each, WireStruct):
                    self.object(inside, each)
                    break
                if form == "object" and typing.get_origin(each) is dict:  # stays plain JSON here
                    self.used.setdefault(field, set()).add(f"{depth}{{}}{Any}")
                    break
            else:
                self.lacking.add(".".join(field))
                continue
            self.used.setdefault(field, set()).add(f"{depth}{each}")

    def missing(self) -> list[str]:
        """Fields that the reference has and the structs have not."""
        return sorted(
            f"{struct.__name__}.{key}"
            for struct, keys in self.met.items()
            for key in keys - set(fields_of(struct))
        )

    def beyond(self) -> list[str]:
        """Fields that the structs have and the reference has not."""
        return sorted(
            f"{struct.__name__}.{key}"
            for struct, keys in self.met.items()
            for key in set(fields_of(struct)) - keys
        )

    def other_types(self) -> list[str]:
        """Fields whose type is not the reference's."""
        other = set(self.lacking)
        for struct, keys in self.met.items():
            for key, hint in fields_of(struct).items():
                if key in keys and self.used.get((struct.__name__, key), set()) != written(hint):
                    other.add(f"{struct.__name__}.{key}")
        return sorted(other)


# --- the files out of the references --------------------------------------------------------------


def reduced(wire: str) -> dict[str, Any]:
    """What the file of a wire has to say, out of the reference's full list."""
    full: dict[str, Any] = json.loads(FULL[wire].read_text("utf-8"))
    if wire == "anthropic":
        _add_newer(full, json.loads(NEWER.read_text("utf-8")))
    if wire == "openai.responses":
        return _responses(full)
    if wire == "converse":
        return _converse(full)
    if wire == "gemini.interactions":
        return _interactions(full)
    return _gemini(full) if wire == "gemini" else _named(full, ROOTS[wire])


def _gemini(full: dict[str, Any]) -> dict[str, Any]:
    messages: dict[str, dict[str, str]] = full["messages"]
    names = _closed(
        GEMINI_ROOTS,
        lambda name: (
            kind.removesuffix("[]").removeprefix("map<string,").removesuffix(">").removesuffix("[]")
            for kind in messages.get(name, {}).values()
        ),
    ) & set(messages)
    return {
        "source": "generativelanguage v1beta, Discovery of 2026-08-22; google-genai 3.3.0",
        "messages": {name: messages[name] for name in sorted(names)},
        "enums": {
            field: values
            for field, values in sorted(full["enums"].items())
            if field.split(".")[0] in names
        },
        "since": {
            field: day
            for field, day in sorted(full["since_2026"].items())
            if field.split(".")[0] in names and "=" not in field
        },
        "sdk_only": {
            name: sorted(fields)
            for name, fields in sorted(full["sdk_only_additions"].items())
            if name in names
        },
    }


_OF_AWS = {
    "string": "string",
    "base64": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "Document": "any",
}


def _converse(full: dict[str, Any]) -> dict[str, Any]:
    """The list of Bedrock's service model; the events of a stream without its exceptions."""

    def kind(text: str) -> str:
        text = re.sub(r"  seen \d+$", "", text).removesuffix(" ?").strip()
        if text.startswith("{"):
            return f"map[string, {kind(text[1:-1].rpartition(': ')[2])}]"
        if text.startswith("["):
            return f"array[{kind(text[1:-1])}]"
        name = text.partition("(")[0]
        if name in _OF_AWS:
            return _OF_AWS[name]
        if name in full["shapes"]:
            return name
        return f"enum({', '.join(json.dumps(each) for each in text.split('|'))})"

    schemas = {
        name: {
            "kind": "object",
            "fields": {
                key: {"type": kind(each)}
                for key, each in shape["fields"].items()
                if "[uri" not in each and "[header" not in each
            },
        }
        for name, shape in full["shapes"].items()
        if isinstance(shape, dict)
    }
    events = schemas["ConverseStreamOutput"]["fields"]
    schemas["ConverseStreamEvents"] = {
        "kind": "object",
        "fields": {key: each for key, each in events.items() if "Exception" not in key},
    }
    meta = {"source": full["_meta"]["source"], "commit_date": full["_meta"]["extracted"]}
    return _named({"_meta": meta, "roots": {}, "schemas": schemas}, ROOTS["converse"])


_OF_INTERACTIONS = {
    "int": "integer",
    "bool": "boolean",
    "any JSON": "any",
    "AudioMediaProcessing": "AudioStaticMediaProcessing",
    "DocumentMediaProcessing": "DocumentStaticMediaProcessing",
    "MediaProcessing": "StaticMediaProcessing",
}
"""Names of the list of Interactions, and the same here."""


def _interactions(full: dict[str, Any]) -> dict[str, Any]:
    """The list of Interactions; fields that only the SDK computes are left out."""

    def enum_of(match: re.Match[str]) -> str:
        return f"enum({', '.join(json.dumps(each) for each in match[1].split('|'))})"

    def kind(text: str, space: str = "") -> str:
        text = re.sub(r"\?? *(deprecated)?$", "", text)
        if space == "environments" and text == "Status":
            text = "string"
        if space:  # names of the space itself come first
            text = re.sub(
                r"(?<![\w.])[A-Z]\w+",
                lambda match: f"{space}.{match[0]}" if f"{space}.{match[0]}" in own else match[0],
                text,
            )
            text = text.replace("AgentConfig", "InteractionAgentConfig")
        text = re.sub(r"\(base64\)|\(date-time\)", "", text)
        text = re.sub(r"@open-enum \w+", "string", text)
        text = re.sub(r"enum\(([^)]*)\)", enum_of, text)
        text = text.replace("{string: ", "map[string, ").replace("}", "]")
        text = re.sub(r"(?<!map)(?<!array)\[(?!string,)", "array[", text)
        for name, ours in _OF_INTERACTIONS.items():
            text = re.sub(rf"(?<![\w\"]){name}(?!\w)", ours, text)
        return text

    own = {name.removeprefix("@union ") for name in full}
    schemas: dict[str, Any] = {}
    for name, fields in full.items():
        space = name.removeprefix("@union ").rpartition(".")[0]
        if name.startswith("@union "):
            members = " | ".join(each.rpartition(".")[2] for each in fields.values())
            schemas[name.removeprefix("@union ")] = {"kind": "alias", "type": members}
        elif not name.startswith("@") and space != "request":
            listed = {
                key: {"type": kind(each, space)}
                for key, each in fields.items()
                if "sdk-only" not in each and key != "*"
            }
            schemas[name] = {"kind": "object", "fields": listed}
    meta = {"source": "google-genai 3.4.0, read by script", "commit_date": "2026-11-21"}
    roots = ROOTS["gemini.interactions"]
    return _named({"_meta": meta, "roots": {}, "schemas": schemas}, roots)


def _responses(full: dict[str, Any]) -> dict[str, Any]:
    """The list of Responses, with the schemas of its beta in place of those that it replaces."""
    beta = full["beta"]
    plain = {**full["schemas"], **beta["only_beta"]}

    def name_of(name: str) -> str:
        """A schema of the beta that is only a twin, under the name of the plain one."""
        twin = re.sub("^Beta_?", "", name)
        return (twin if twin in full["schemas"] else name).replace("-", "_")

    def kind(text: str) -> str:
        text = text.replace("array<", "array[").replace("map<", "map[string, ").replace(">", "]")
        text = re.sub(r"\b(string|number|integer)\(\w+\)", r"\1", text).replace("?:", ":")
        text = re.sub(r"\bobject\b", "map[string, any]", text)
        return re.sub(r"\b[A-Z][\w-]*", lambda match: name_of(match[0]), text)

    schemas: dict[str, Any] = {}
    for name, schema in plain.items():
        twin = beta["different"].get(f"Beta{name}", {})
        fields = {**schema.get("fields", {}), **twin.get("added_fields", {})}
        fields |= {key: each["beta"] for key, each in twin.get("changed_fields", {}).items()}
        members = [*schema.get("oneOf", schema.get("anyOf", ()))]
        members += [f"Beta{member}" for member in twin.get("added_members", ())]
        schemas[name_of(name)] = (
            {
                "kind": "object",
                "fields": {key: {"type": kind(each["type"])} for key, each in fields.items()},
            }
            if fields
            else {"kind": "alias", "type": kind(" | ".join(members) or schema["type"])}
        )
    source = full["source"]
    listed = _named(
        {
            "_meta": {"source": f"{source['repo']} {source['info_version']}", **source},
            "roots": {root: root for root in ROOTS["openai.responses"]},
            "schemas": schemas,
        },
        ROOTS["openai.responses"],
    )
    return {**listed, "sdk_only": _responses_of_sdk(full["sdk_delta"])}


def _responses_of_sdk(newer: dict[str, Any]) -> dict[str, list[str]]:
    """Struct -> the fields that only the SDK has."""
    items, tools = newer["input_items"], newer["tools"]
    output = newer["output_items"]["new_fields"]
    parts = {
        "Item": [*items["new_fields"].values(), *items["new_types"].values(), *output.values()],
        "Tool": tools["new_fields"].values(),
        "ResponseRequest": [newer["create_request_new_fields"]],
        "Response": [newer["response_new_fields"]],
        "AccessPrograms": [
            newer["create_request_AccessPrograms"],
            newer["response_AccessPrograms"],
        ],
        "BackgroundOptions": [newer["create_request_BackgroundOptions"]],
        "ImageOptions": [newer["create_request_Image"], newer["response_Image"]],
        "PromptCacheOptions": [newer["create_request_PromptCacheOptions"]],
        "InputTransformation": [newer["response_InputTransformation"]],
        "PromptCacheDiagnostics": newer["response_PromptCacheDiagnostics"].values(),
        "InputTokensDetails": [newer["usage_input_tokens_details"]],
        "CacheWriteTokensDetails": [newer["usage_cache_write_tokens_details"]],
    }
    return {
        struct: sorted({key for fields in listed for key in fields})
        for struct, listed in parts.items()
    }


_UNNAMED = {"ContentBlock": "raw_content_block_start_event.ContentBlock"}
"""Names that a reference uses and does not have, and the same under another name."""


def _named(full: dict[str, Any], roots: tuple[str, ...]) -> dict[str, Any]:
    schemas = {name: _schema(schema) for name, schema in full["schemas"].items()}
    for name, other in _UNNAMED.items():
        if other in schemas:
            schemas.setdefault(name, other)
    kinds = {root: full["roots"].get(root, root) for root in roots}
    names = _closed(kinds.values(), lambda name: _inside(schemas[name]))
    meta = full["_meta"]
    return {
        "source": f"{meta['source']}, {meta['commit_date']}",
        "roots": kinds,
        "schemas": {name: schemas[name] for name in sorted(names)},
    }


_NEWER_TYPES = {
    "BrowserStateChangeParam": "BrowserStateChangeTabOpenedParam"
    " | BrowserStateChangeDownloadStartedParam | BrowserStateChangeDownloadCompletedParam"
    " | BrowserStateChangeDownloadFailedParam",
    "CacheMissReason": "CacheMissModelChanged | CacheMissToolsChanged | CacheMissMessagesChanged"
    " | CacheMissPreviousMessageNotFound",
    "ClientToolResults": "WebFetchURLSourceAllParam | WebFetchURLSourceNoneParam"
    " | WebFetchURLSourceOnlyParam | WebFetchURLSourceExceptParam",
    "ContainerSkill": "{skill_id: string, type: string, version: string}",
    "Diagnostics": "{cache_miss_reason: CacheMissReason | null}",
    "ModelLine": "string",
    "ServerToolResults": "ClientToolResults",
    "SkillParams": "ContainerSkill",
    "UserInput": "WebFetchURLSourceAllParam | WebFetchURLSourceNoneParam",
}
"""Names that the newer list uses and does not have; from the same SDK, 2.12.0."""
_NEWER_MEMBERS = {
    "MessageCountTokensToolParam": "BrowserToolset20260801Param | ComputerToolset20260801Param",
    "ThinkingConfigParam": "ThinkingConfigBetweenToolsParam",
    "ToolUnionParam": "BrowserToolset20260801Param | ComputerToolset20260801Param",
    "document_block_param.Source": "FileDocumentSourceParam",
    "image_block_param.Source": "FileImageSourceParam",
    "tool_result_block_param.Content": "BrowserStateBlockParam",
}
"""Members that unions of the older list have there: the newer list has no unions."""


def _add_newer(full: dict[str, Any], newer: dict[str, Any]) -> None:
    """Add the newer list to Anthropic's. Fields that are gone stay: older versions have them."""
    schemas = full["schemas"]
    for name, fields in {**newer["new_classes"], **newer["added_fields"]}.items():
        schema = schemas.setdefault(name, {"kind": "object", "fields": {}})
        if schema["kind"] == "object":
            schema["fields"] |= {
                key: {"type": _of_annotation(ast.parse(text, mode="eval").body)}
                for key, text in fields.items()
            }
    for name, text in _NEWER_TYPES.items():
        schemas[name] = {"kind": "alias", "type": text}
    for name, text in _NEWER_MEMBERS.items():
        schemas[name]["type"] += f" | {text}"
    container = schemas["MessageCreateParamsBase"]["fields"]["container"]
    container["type"] = "ContainerParams | string | null"
    full["_meta"]["commit_date"] += f" and {newer['_meta']['sdk_version']}"


_PLAIN = {"str": "string", "int": "integer", "bool": "boolean", "float": "number", "object": "any"}
_LISTS = {"List", "Iterable", "SequenceNotStr"}


def _of_annotation(node: ast.expr) -> str:
    """An annotation of Python as the references write types."""
    if not isinstance(node, ast.Subscript):
        name = ast.unparse(node)
        return _PLAIN.get(name, name)
    form = ast.unparse(node.value)
    inside = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if form == "Literal":
        return f"enum({', '.join(json.dumps(ast.literal_eval(each)) for each in inside)})"
    kinds = [_of_annotation(each) for each in inside]
    if form in _LISTS:
        return f"array[{kinds[0]}]"
    if form == "Dict":
        return f"map[string, {kinds[1]}]"
    return " | ".join([*kinds, "null"] if form == "Optional" else kinds)  # Union, Required


def _schema(schema: dict[str, Any]) -> dict[str, str] | str:
    if schema["kind"] == "object":
        return {key: field["type"] for key, field in schema["fields"].items()}
    if schema["kind"] == "enum":
        return "string"
    return str(schema["type"]) if schema["kind"] == "alias" else " | ".join(schema["members"])


def _inside(schema: dict[str, str] | str) -> Iterator[str]:
    for text in [schema] if isinstance(schema, str) else schema.values():
        yield from _names(kinds_of(text))


def _names(kinds: list[Kind]) -> Iterator[str]:
    for form, inside in kinds:
        if form == "name":
            yield inside
        elif form == "object":
            for each in inside.values():
                yield from _names(each)
        elif form not in ("scalar", "values"):
            yield from _names(inside)


def _closed(roots: Any, names_in: Callable[[str], Any]) -> set[str]:
    seen: set[str] = set()
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += names_in(name)
    return seen


if __name__ == "__main__":
    for each in FULL:
        text = json.dumps(reduced(each), indent=1, ensure_ascii=False) + "\n"
        (HERE / f"{each}.json").write_text(text, "utf-8")
