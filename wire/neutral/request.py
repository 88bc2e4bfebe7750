"""A vendor-neutral request: the conversation, the tools and the settings.

Each wire's `rendering.py` converts it to the body of that wire.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import NoneType
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

import msgspec

from wire.core.arguments import items_of, number, whole_number
from wire.core.bodies import wrong_type
from wire.core.errors import RuleError, Violation, WireError
from wire.core.fields import Fields
from wire.core.json_values import are_sound, checked
from wire.core.memory import MetadataStruct, Note
from wire.core.secret import quoted
from wire.neutral.compaction import Compaction, of_request
from wire.neutral.messages import (
    Message,
    OwnTexts,
    Reply,
    check_values,
    own_texts,
    values_of,
)

T = TypeVar("T")

_LOWERED = "_lowered"

EFFORTS = (
    "none",
    "minimal",
    "low",
    "medium",
    "high",
    "xhigh",
    "max",
    "ultra",
    "default",
    "auto",
)
"""The words of all vendors for the reasoning effort, in any case. Sources: the vendors' references
and recorded requests.
"""

VERBOSITY = ("low", "medium", "high")
"""The values of the setting `verbosity`."""

CACHING = ("auto", "long", "off")
"""The values of the setting `caching`. `long` asks for a longer lifetime, which may cost more."""

_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}

TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Tool names that every vendor accepts (G28)."""


ToolKind: TypeAlias = Literal["function", "custom"]
ServerToolKind: TypeAlias = Literal["web_search", "code", "url_context", "file_search"]
Syntax: TypeAlias = Literal["lark", "regex"]

TEXT_PARAMETER = "input"
"""The name of the text that a custom tool takes."""


def text_parameters(grammar: str = "", syntax: str = "lark") -> dict[str, Any]:
    """Return the JSON Schema of the arguments of a custom tool: one text.

    >>> text_parameters()["required"]
    ['input']
    """
    text = {"type": "string"}
    if grammar:
        text["description"] = f"A text of this grammar ({syntax}):\n{grammar}"
    return {"type": "object", "properties": {TEXT_PARAMETER: text}, "required": [TEXT_PARAMETER]}


def _check_schema(schema: Any, path: str) -> None:
    from wire.core.schema_plan import check_schema  # a first call without tools needs none

    check_schema(schema, path)


class Tool(MetadataStruct, frozen=True, metaclass=Fields):
    """The declaration of a function that the model may call.

    >>> Tool("now", "The time.").parameters
    {'type': 'object', 'properties': {}}

    A custom tool takes a text instead of JSON, which may have a grammar:

    >>> Tool("run_sql", "Run a query.", kind="custom", grammar="SELECT .+", syntax="regex").kind
    'custom'

    `parameters` and `response` are JSON Schemas; they are never changed. Raises `RuleError` for a
    name that some vendor rejects, for parameters that are not the schema of an object, for a
    `strict` or a `deferred` that is not a bool, for a grammar of a function or of an unknown
    syntax, and for a custom tool with parameters of its own or `strict`.
    """

    name: str
    """Letters, digits, underscores and dashes, at most 64."""
    description: str = ""
    """Purpose of the function and when to call it, for the model."""
    parameters: dict[str, Any] = msgspec.field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )
    """JSON Schema of the arguments, an object."""
    response: dict[str, Any] | None = None
    """JSON Schema of the result: Gemini and OpenAI's Responses take one."""
    strict: bool = False
    """Makes the host enforce the schema of the arguments, where it can: OpenAI's wires, and
    Anthropic from 4.5 on. Its objects are then sent as closed ones. Gemini holds a model to the
    schemas if all functions are strict and the choice is `auto`; else the notes report it."""
    kind: ToolKind = "function"
    """`custom`: the model writes a text, which is the argument `input` of its calls. OpenAI has
    such tools. Other hosts get a function with that parameter, and a note."""
    grammar: str = ""
    """Grammar of the text of a custom tool. OpenAI enforces it; other hosts get it in the
    description of the parameter."""
    syntax: Syntax = "lark"
    """The language of `grammar`: `lark`, or `regex` for a regular expression."""
    deferred: bool = False
    """The model gets the tool only after a search has found it: one of the vendor, or in agents
    `find_tools`. A chat sends it at once where the vendor has none, and a note says so."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not TOOL_NAME.fullmatch(self.name):
            remedy = (
                "a letter or underscore, then letters, digits, underscores or dashes, 64 in all"
            )
            raise RuleError(
                violations=[
                    Violation(
                        "tool.name", f"{quoted(self.name)} is not a tool name", "G28", remedy=remedy
                    )
                ]
            )
        for path in ("parameters", "response"):
            schema = getattr(self, path)
            if not isinstance(schema, Mapping) and not (path == "response" and schema is None):
                problem = f"expected a JSON Schema as a mapping, not {type(schema).__name__}"
                raise RuleError(violations=[Violation(f"tool {self.name}: {path}", problem)])
            # Before `repr` or an encoder, which would write a shared schema at each place.
            if schema and schema != _NO_PARAMETERS:
                _check_schema(schema, f"tool {self.name}: {path}")
        for name in ("strict", "deferred"):
            if not isinstance(getattr(self, name), bool):
                raise _wrong_type(f"tool {self.name}: {name}", getattr(self, name), (bool,))
        self._check_kind()
        kind = self.parameters.get("type", "object")
        if kind != "object":
            problem = f"expected the type object, not {quoted(kind)}"
            remedy = "give the parameter a name: an object with one property"
            raise RuleError(
                violations=[
                    Violation(f"tool {self.name}: parameters.type", problem, "G50", remedy=remedy)
                ]
            )

    def _check_kind(self) -> None:
        """Check the fields of custom tools, and set the parameters of one."""
        for name, known in (("kind", get_args(ToolKind)), ("syntax", get_args(Syntax))):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                problem = f"expected {' or '.join(known)}, not {quoted(value)}"
                raise RuleError(violations=[Violation(f"tool {self.name}: {name}", problem)])
        if not isinstance(self.grammar, str):
            raise _wrong_type(f"tool {self.name}: grammar", self.grammar, (str,))
        if self.kind == "function":
            if self.grammar:
                raise self._misfit("grammar", "only a custom tool has a grammar", 'kind="custom"')
            return
        parameters = text_parameters(self.grammar, self.syntax)
        if self.strict:
            problem = "a custom tool has no schema; it may have a grammar"
            raise self._misfit("strict", problem, "leave it out")
        if self.parameters not in (_NO_PARAMETERS, parameters):
            problem = "a custom tool takes one text and has no parameters"
            raise self._misfit("parameters", problem, "leave it out")
        msgspec.structs.force_setattr(self, "parameters", parameters)

    def _misfit(self, field: str, problem: str, remedy: str) -> RuleError:
        path = f"tool {self.name}: {field}"
        return RuleError(violations=[Violation(path, problem, remedy=remedy)])

    @property
    def added_keywords(self) -> frozenset[str]:
        """Keywords at the root of `parameters` that were added to what the user wrote.

        No note reports that a wire drops one.
        """
        return frozenset()

    def lowered(self, key: Hashable, lower: Callable[[], T]) -> T:
        """Return `lower()`, computed once for each `key` and cached on the tool.

        `key` names the form, such as a wire.

        It is computed again if a schema has changed, because the caller may change the dicts of a
        tool. An exception of `lower` is not cached.
        """
        try:
            hash(key)
        except Exception:
            raise _wrong_type("key", key, (Hashable,)) from None
        if not callable(lower):
            raise _wrong_type("lower", lower, (Callable,))
        known: dict[Hashable, tuple[object, T]] = vars(self).setdefault(_LOWERED, {})
        # `repr` as well, since JSON alone does not distinguish NaN from null. A schema that JSON
        # cannot represent may hold a mapping whose `repr` hides its content: it is never cached.
        schemas = (self.parameters, self.response)
        try:
            state = (repr(schemas), msgspec.json.encode(schemas))
        except (TypeError, ValueError, OverflowError, RecursionError):
            return lower()
        if key not in known or known[key][0] != state:
            known[key] = state, lower()
        return known[key][1]


class Location(MetadataStruct, frozen=True, kw_only=True, metaclass=Fields):
    """The approximate location of the user, for a web search.

    >>> Location(city="Brest", country="FR").city
    'Brest'
    """

    city: str = ""
    """Name of the city."""
    region: str = ""
    """Name of the region or state."""
    country: str = ""
    """Two letters (ISO 3166)."""
    timezone: str = ""
    """Name of the IANA database, such as `Europe/Paris`."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not isinstance(getattr(self, name), str):
                raise wrong_type(f"location.{name}", getattr(self, name), "text")


class ServerTool(MetadataStruct, frozen=True, kw_only=True, metaclass=Fields):
    """A tool that the vendor's server runs. `wire.web_search` and the others make one.

    >>> ServerTool(kind="code")
    ServerTool(kind='code')

    A host that does not offer the tool, or cannot express one of its options, is not asked:
    `RuleError` names the host and the tool. Raises `RuleError` for a value of a wrong type, and for
    a file search without stores.
    """

    kind: ServerToolKind
    """`web_search`, `code`, `url_context` or `file_search`."""
    allowed_domains: tuple[str, ...] = ()
    """Only pages of these domains."""
    blocked_domains: tuple[str, ...] = ()
    """No pages of these domains. Most hosts refuse it together with `allowed_domains`."""
    location: Location | None = None
    """Where the user is, for a web search."""
    max_uses: int | None = None
    """The maximum number of calls in one reply."""
    stores: tuple[str, ...] = ()
    """Names of the stores that a file search reads: Gemini's file search stores, OpenAI's vector
    stores."""
    max_results: int | None = None
    """The maximum number of results of a file search."""
    extra: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    """Provider name -> further keys of the tool's JSON, which are sent to this provider only. They
    count before those of the other fields."""

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in get_args(ServerToolKind):
            expected = ", ".join(get_args(ServerToolKind))
            raise _refusal("server tool", f"expected one of {expected}, not {quoted(self.kind)}")
        for name in ("allowed_domains", "blocked_domains", "stores"):
            given = getattr(self, name)
            texts = (given,) if isinstance(given, str) else items_of(f"{self.kind}.{name}", given)
            for index, text in enumerate(texts):
                if not isinstance(text, str) or not text.strip():
                    problem = f"expected a text that is not blank, not {quoted(text, 80)}"
                    raise _refusal(f"{self.kind}.{name}[{index}]", problem)
            msgspec.structs.force_setattr(self, name, texts)
        if self.location is not None and not isinstance(self.location, Location):
            raise wrong_type(f"{self.kind}.location", self.location, "Location")
        for name in ("max_uses", "max_results"):
            if getattr(self, name) is not None:
                whole_number(f"{self.kind}.{name}", getattr(self, name), least=1)
        if self.kind == "file_search" and not self.stores and not self.extra:
            raise _refusal("file_search.stores", "expected the name of at least one store")
        if not isinstance(self.extra, Mapping):
            raise wrong_type(f"{self.kind}.extra", self.extra, "mapping")
        for provider, keys in self.extra.items():
            path = f"{self.kind}.extra.{provider}"
            if not isinstance(keys, Mapping):
                raise wrong_type(path, keys, "mapping")
            checked(dict(keys), path)


def _refusal(path: str, problem: str) -> RuleError:
    return RuleError(violations=[Violation(path, problem)])


JSON_WORDS = "Answer with one JSON object, and nothing else."
"""Added to a request for JSON without a schema, if the host needs words."""


class Output(MetadataStruct, frozen=True, metaclass=Fields):
    """Requests JSON that matches a schema, instead of prose; any JSON if the schema is empty.

    >>> Output({"type": "object", "properties": {"city": {"type": "string"}}}, "weather").name
    'weather'
    """

    schema: dict[str, Any]
    """The JSON Schema of the value."""
    name: str = "answer"
    """Name of the schema, for vendors that take one."""
    strict: bool = False
    """Makes hosts of chat completions enforce the schema; they then accept only a subset of JSON
    Schema.
    """
    description: str = ""
    """What the value is, for the model. Vendors without a field for it get it in the schema."""

    @property
    def described(self) -> dict[str, Any]:
        """The schema with the description, if it has none of its own."""
        if not self.description or not self.schema:
            return self.schema
        return {"description": self.description, **self.schema}

    def __post_init__(self) -> None:
        _check_schema(self.schema, "output.schema")


class Request(MetadataStruct, frozen=True, kw_only=True, metaclass=Fields):
    """One request to a model; fields that are `None` or empty are not sent.

    >>> Request(messages=(Message.user("Hi"),), max_tokens=100).max_tokens
    100

    Raises `RuleError` for two tools with one name, a `tool_choice` that names an unknown tool, and
    a field of the wrong type. Rendering it for a wire raises `RuleError` for a setting that no
    vendor accepts, such as `top_p=5`.
    """

    messages: tuple[Message, ...]
    """The conversation, oldest message first."""
    system: str = ""
    """Comes before the system messages among `messages`."""
    tools: tuple[Tool | ServerTool, ...] = ()
    """The functions that the model may call, and tools that the vendor's server runs."""
    tool_choice: str | tuple[str, ...] | None = None
    """`"auto"`, `"none"`, `"required"`, or a tuple of tool names of which one must be called."""
    max_tokens: int | None = None
    """Tokens of the longest reply."""
    continue_long: bool = True
    """Follows a long answer of Gemini 4 to its end, over several requests."""
    temperature: float | None = None
    """Randomness, from 0 up."""
    top_p: float | None = None
    """Share of the likeliest tokens to choose from, from 0 to 1."""
    stop: tuple[str, ...] = ()
    """Texts before which the reply ends. Where the host has no stop sequences, the reply is cut by
    this library, and a note says so; batches are refused there."""
    effort: str | None = None
    """Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, or another of `EFFORTS`."""
    thoughts: bool | str | None = None
    """Whether the reply has the model's thoughts, apart from the effort: True, False, or a word of
    the vendor."""
    verbosity: str | None = None
    """Length of the text: one of `VERBOSITY`."""
    seed: int | None = None
    """A number for which the reply is the same again, as far as the host can."""
    tier: str | None = None
    """Tier of the service: `flex`, `priority`, or another word of the vendor."""
    store: bool | None = None
    """Whether the vendor keeps request and reply. `None` is sent as false where the host has the
    choice."""
    metadata: Mapping[str, str] | None = None
    """Texts that the vendor shows with the request."""
    settings: Mapping[str, Any] | None = None
    """Settings that two wires have and that have no field here, such as `top_k`, `thinking_budget`
    in tokens or `parallel_tool_calls`, by the names of `wire.catalogue.settings.shared()`."""
    output: Output | None = None
    """Requests JSON of a schema in place of prose."""
    search_grounding: bool = False
    """Adds Google Search to the tools. Only Gemini has it; other wires report it in the notes."""
    raw_schemas: bool = False
    """Sends JSON Schema to Gemini unchanged instead of converting it to Gemini's dialect (D-06)."""
    caching: str | None = None
    """How the vendor is asked to keep the beginning of the request: `auto`, `long` or `off`."""
    compaction: Compaction | None = None
    """When the server replaces the conversation by a summary of it. True stands for its default,
    a number for a trigger in tokens."""
    options: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    """Name of a provider or a wire (`wire.core.provider.wire_option`) -> further keys of the body,
    which are sent there only."""

    has_further: ClassVar[bool] = False
    """Whether it has one of the settings `FURTHER`."""

    def _hidden(self) -> dict[str, Any]:
        from wire.core.secret_fields import masked_value

        return {"options": masked_value(self.options)}

    def __post_init__(self) -> None:
        # The body's types do not contain these fields, so the wires do not check them.
        if isinstance(self.messages, Message):
            msgspec.structs.force_setattr(self, "messages", (self.messages,))
        for name in ("messages", "tools"):
            if type(getattr(self, name)) is not tuple:
                items = items_of(name, getattr(self, name))
                msgspec.structs.force_setattr(self, name, items)
        for index, message in enumerate(self.messages):
            if not isinstance(message, Message):
                problem = f"expected a Message, not {type(message).__name__}"
                remedy = "such as Message.user('Hi')" if isinstance(message, str | dict) else ""
                if isinstance(message, Reply):
                    remedy = "reply.message is one"
                raise RuleError(
                    violations=[Violation(f"messages[{index}]", problem, remedy=remedy)]
                )
        for index, tool in enumerate(self.tools):
            if not isinstance(tool, (Tool, ServerTool)):
                raise _wrong_type(f"tools[{index}]", tool, (Tool, ServerTool))
        given = (self.thoughts, self.verbosity, self.seed, self.tier, self.store, self.metadata)
        if given != _NONE or self.settings:
            vars(self)["has_further"] = True
        for field, kinds in {**_KINDS, **FURTHER}.items() if self.has_further else _KINDS.items():
            if not isinstance(getattr(self, field), kinds):
                raise _wrong_type(field, getattr(self, field), kinds)
        if self.caching is not None:
            check_caching(self.caching)
        if self.compaction is not None:
            msgspec.structs.force_setattr(self, "compaction", of_request(self.compaction))
        names = [tool.name for tool in self.tools if isinstance(tool, Tool)]
        for name in names:
            if names.count(name) > 1:
                raise RuleError(
                    violations=[Violation("tools", f"two tools are called {name}", "G29")]
                )
        choice = self.tool_choice
        if isinstance(choice, str) and choice not in ("auto", "none", "required"):
            remedy = f"({choice!r},) for the tool of that name"
            raise RuleError(
                violations=[
                    Violation(
                        "tool_choice",
                        f"expected auto, none or required, not {quoted(choice)}",
                        remedy=remedy,
                    )
                ]
            )
        for name in choice if isinstance(choice, tuple) else ():
            if not isinstance(name, str) or name not in names:
                raise _refusal("tool_choice", f"no tool is called {quoted(name)}")


def _wrong_type(path: str, value: object, kinds: tuple[type, ...]) -> RuleError:
    expected = " or ".join(kind.__name__ for kind in kinds if kind is not NoneType)
    return wrong_type(path, value, expected)


def check_caching(caching: object, error: type[WireError] = RuleError) -> None:
    """Raise `error` unless `caching` is `None` or one of `CACHING`."""
    if caching is None or (isinstance(caching, str) and caching in CACHING):
        return
    problem = f"expected {', '.join(CACHING[:-1])} or {CACHING[-1]}, not {quoted(caching, 40)}"
    if issubclass(error, RuleError):
        raise error(violations=[Violation("caching", problem)])
    raise error(f"caching: {problem}")


def checked_request(request: object) -> Request:
    """Return `request` if it is a `Request` and JSON can represent each value in it.

    Raises `RuleError` with the JSON path in the request, such as `messages[1].parts[0].content[2]`.
    Messages that came from a model are not checked: their received bytes are sent back.
    """
    if not isinstance(request, Request):
        raise wrong_type("request", request, "Request")
    # All values at once: sound ones, as almost all are, cost no call each. Only `_check_each` knows
    # their paths.
    texts, others = texts_of(request)
    values = values_of([request.messages[index] for index in others], received=False)
    values += texts.values()
    for tool in request.tools:
        if isinstance(tool, Tool):
            values += (tool.description, tool.parameters, tool.response)
    settings = [getattr(request, name) for name in _SETTINGS]
    values += [each for each in settings if type(each) is not tuple or each]
    if request.output is not None:
        values += msgspec.structs.astuple(request.output)
    values += request.options.values()
    if not are_sound(values):
        _check_each(request)
    if request.max_tokens is not None:
        whole_number("max_tokens", request.max_tokens, least=1)
    if request.temperature is not None:
        number("temperature", request.temperature, least=0)
    if request.top_p is not None:
        number("top_p", request.top_p, least=0, most=1)
    if request.stop:
        _check_stops(request.stop)
    if request.effort is not None:
        _check_word("effort", request.effort, EFFORTS)
    if request.has_further:
        _check_further(request)
    return request


def _check_word(name: str, word: str, words: tuple[str, ...]) -> None:
    if word.lower() not in words:
        problem = f"expected {', '.join(words[:-1])} or {words[-1]}, not {quoted(word, 40)}"
        raise RuleError(violations=[Violation(name, problem)])


def _check_further(request: Request) -> None:
    for name in FURTHER:
        checked(getattr(request, name), name)
    if request.seed is not None:
        whole_number("seed", request.seed)
    if request.verbosity is not None:
        _check_word("verbosity", request.verbosity, VERBOSITY)
    if request.settings:
        from wire.catalogue.settings import shared

        for key in request.settings:
            if key not in shared():
                problem = f"expected one of {', '.join(shared())}"
                raise RuleError(violations=[Violation(f"settings.{quoted(key)}", problem)])
    for key, value in (request.metadata or {}).items():
        if not isinstance(value, str):
            raise wrong_type(f"metadata.{key}", value, "text")


class TokenCount(MetadataStruct, frozen=True):
    """The tokens of a request, without those of its reply.

    >>> count = TokenCount(12, exact=False, source="estimate")
    >>> count.total, count.exact
    (12, False)
    """

    total: int
    """Tokens of the messages, the system prompt, the tools and the schema of the output."""
    exact: bool
    """Whether the vendor counted them. An estimate is often a quarter too low or too high."""
    source: str
    """The endpoint that counted: `countTokens`, `count_tokens` or `input_tokens`; or `estimate`."""


_OWN_TEXTS = "_own_texts"


def texts_of(request: Request) -> OwnTexts:
    """Return the `own_texts` of the messages.

    They are computed once for each request, which never changes.

    >>> texts_of(Request(messages=(Message.user("Hi"),))).texts
    {0: 'Hi'}
    """
    found: OwnTexts | None = request.__dict__.get(_OWN_TEXTS)
    if found is None:
        vars(request)[_OWN_TEXTS] = found = own_texts(request.messages)
    return found


def _check_stops(stops: object) -> None:
    """Raise `RuleError` unless `stops` is a list of texts that are not empty."""
    if not isinstance(stops, (tuple, list)):
        raise wrong_type("stop", stops, "text or a list of texts")
    for index, stop in enumerate(stops):
        if not isinstance(stop, str):
            raise wrong_type(f"stop[{index}]", stop, "text")
        if not stop:
            problem = "expected a text that is not empty"
            raise RuleError(violations=[Violation(f"stop[{index}]", problem)])


def _check_each(request: Request) -> None:
    """Check value by value, to find the path of an invalid value."""
    for index, message in enumerate(request.messages):
        if message.role != "assistant" or message.origin is None:
            check_values(message, f"messages[{index}]")
    for index, tool in enumerate(request.tools):
        # The parameters of a custom tool contain its grammar: the path is that of the grammar.
        for name in ("description", "grammar", "parameters", "response"):
            value = getattr(tool, name, None)
            path = f"tools[{index}].{name}"
            checked(dict(value) if isinstance(value, Mapping) else value, path)
    for name in (*_SETTINGS, "output"):
        value = getattr(request, name)
        if value is not None:
            checked(value, name)
    for provider, extra in request.options.items():
        if isinstance(extra, Mapping):  # `merged_options` refuses any other type
            checked(dict(extra), f"options.{provider}")


FURTHER: dict[str, tuple[type, ...]] = {
    "thoughts": (bool, str, NoneType),
    "verbosity": (str, NoneType),
    "seed": (object,),
    "tier": (str, NoneType),
    "store": (bool, NoneType),
    "metadata": (Mapping, NoneType),
    "settings": (Mapping, NoneType),
}
"""Settings that few requests have and few hosts share; `wire.neutral.settings` lowers them."""
_NONE = (None,) * (len(FURTHER) - 1)
_SETTINGS = ("system", "tool_choice", "max_tokens", "temperature", "top_p", "stop", "effort")

_KINDS: dict[str, tuple[type, ...]] = {
    "system": (str,),
    "effort": (str, NoneType),
    "output": (Output, NoneType),
    "tool_choice": (str, tuple, NoneType),
    "options": (Mapping,),
    "search_grounding": (bool,),
    "raw_schemas": (bool,),
    "continue_long": (bool,),
}


NO_STOPS = Note("stop", "not sent: the host takes none; the reply is cut before the first one")
"""Note of a request whose stop sequences are not sent. `ReplyReader` cuts the replies."""


def sent_stops(stops: tuple[str, ...], most: int, notes: list[Note]) -> list[str] | None:
    """Return the stop sequences to send, of which a host takes `most`; note that others cut."""
    if stops and not most:
        notes.append(NO_STOPS)
    elif len(stops) > most:
        words = f"{most} of {len(stops)} sent, as many as the host takes; the others cut the reply"
        notes.append(Note("stop", words))
    return list(stops[:most]) or None


def cuts(notes: Iterable[Note]) -> bool:
    """Return whether stop sequences were not sent, so that replies are cut at them."""
    return any(note.path == "stop" and "sent" in note.message for note in notes)
