"""Differences between the providers of chat completions, as data: a `Dialect` in each row of
`wire.providers`.

The default of a field is the behaviour of OpenAI's reference. The exception is what is sent back of
a received message: there the default is the minimum, because many hosts refuse unknown keys.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

import msgspec

from wire.core.fields import Fields
from wire.neutral.ids import CallIds as CallIds


class Refusal(msgspec.Struct, frozen=True):
    """A field, or a value of a field, that a provider refuses.

    >>> seed = Refusal("seed", "not known here", remedy="use random_seed", ignored=True)
    >>> Dialect(refuses=(seed,)).refuses[0].path
    'seed'
    """

    path: str
    """Path of the field, such as `messages[].content[].image_url`. `=value` at the end limits it to
    this value, `=a|b` to one of several, `=` to the empty text, `=[]` to the empty list."""
    words: str
    """The server's error message; `{model}`, `{path}` and `{value}` are replaced by the model's
    name, the path and the value."""
    remedy: str = ""
    """The value to send instead; empty if there is no single remedy."""
    models: str = ""
    """The models, as `matches_model` takes them; empty for all models."""
    ignored: bool = False
    """The server answers and ignores the field: `check` reports a warning, not an error."""
    code: str = ""
    """The `code` of the server's error; empty if it has none, or if it is not known."""


class ModelRefusal(msgspec.Struct, frozen=True):
    """Models that do not answer chat completions.

    >>> gone = ModelRefusal("m-1", "The model `{model}` is gone.", since="2026-01-05")
    >>> Dialect(refuses_models=(gone,)).refuses_models[0].since
    '2026-01-05'
    """

    models: str
    """The models, as `matches_model` takes them."""
    words: str
    """The server's error message; `{model}` is replaced by the model's name."""
    remedy: str = ""
    status: int = 404
    code: str = ""
    since: str = ""
    """The day of a documented shutdown: `check` reports a warning, because the refusal was not
    recorded, and answers from before that day were. Empty if the refusal was recorded or reported.
    """


class Caching(msgspec.Struct, frozen=True, kw_only=True):
    """How a host keeps the beginnings of prompts. Models as of `matches_model`, empty for none.

    >>> Caching(unasked=True, key=True).breakpoints
    ''
    """

    unasked: bool = False
    """The host keeps beginnings of prompts without being asked."""
    key: bool = False
    """The host reads `prompt_cache_key`, and sends requests with one key to one server."""
    key_header: str = ""
    """Name of the header that carries the key in its place, in lower case."""
    breakpoints: str = ""
    """The models whose parts may have `prompt_cache_breakpoint`."""
    marks: str = ""
    """The models whose parts may have Anthropic's `cache_control`."""
    retention: str = ""
    """The models that accept `prompt_cache_retention: 24h`."""


class MediaEndpoints(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how a host makes images and speech, and reads sound. A path is empty for what the
    host does not do.

    >>> MediaEndpoints(speech="/audio/speech").images
    ''
    """

    images: str = ""
    """Path of image generation."""
    edits: str = ""
    """Path of edits of pictures; empty if pictures go to image generation, or nowhere."""
    pictures: Literal["", "form", "images", "references", "urls"] = ""
    """How pictures go into a request: files of a form, `images`, `input_references`, or URLs in
    `reference_images`."""
    image_fields: tuple[str, ...] = ()
    """Fields of `ImageRequest` for what a neutral request asks for."""
    image_bytes: str = ""
    """Value of `response_format` that asks for bytes; empty if the host sends bytes unasked."""
    streams_images: bool = False
    """The host streams unfinished images."""
    speech: str = ""
    """Path of speech."""
    speech_fields: tuple[str, ...] = ()
    """Fields of `SpeechRequest` for what a neutral request asks for."""
    streams_speech: Literal["", "audio", "sse", "stream"] = ""
    """How speech is streamed: as bytes of sound only, with `stream_format: sse`, or with
    `stream: true`."""
    transcriptions: str = ""
    """Path of transcriptions."""
    translations: str = ""
    """Path of translations to English."""
    transcription_fields: tuple[str, ...] = ()
    """Fields of `TranscriptionRequest` for what a neutral request asks for."""
    speakers: Literal["", "diarize", "diarized_json"] = ""
    """How a request asks who speaks: `diarize: true`, or that `response_format`."""
    sound_url: Literal["", "file_url", "url"] = ""
    """The field for the URL of a sound."""
    streams_transcriptions: bool = False
    """The host streams transcripts."""
    lists: Literal["brackets", "repeated"] = "brackets"
    """How a form has a list: as `name[]`, or as `name` several times. With the first, an object is
    `name[key]`; with the other it is JSON."""


_SNAPSHOT = r"(?:-\d{4}-\d\d-\d\d|-\d{4}|-latest)?"


@functools.lru_cache(1024)  # each rule of a dialect asks this of each request
def matches_model(pattern: str, model: str) -> bool:
    """Return whether a pattern matches the whole name of a model; upper and lower case are the
    same. `@` and a name are a group of `wire/catalogue/facts.json`.

    A date or `-latest` after the name belongs to the same model, any other word makes another one.

    >>> matches_model("o3", "o3-2025-04-16"), matches_model("o3", "o3-mini")
    (True, False)
    >>> matches_model("@kimi.thinks", "kimi-k2.6")
    True
    """
    if pattern.startswith("@"):
        from wire.catalogue.facts import names_of  # a client that only sends needs no facts

        pattern = names_of(pattern[1:]).pattern
    return re.fullmatch(f"(?:{pattern}){_SNAPSHOT}", model, re.IGNORECASE) is not None


class Dialect(msgspec.Struct, frozen=True, kw_only=True, metaclass=Fields):
    """Quirks of one provider. Sources and dates of each value: docs/providers.md.

    >>> my_host = Dialect(most_stops=4, reasoning_slots=("reasoning_content",))
    >>> my_host.verbatim
    False
    """

    # --- refused requests
    refuses: tuple[Refusal, ...] = ()
    """Fields, and values of fields, that the provider refuses or ignores."""
    ranges: tuple[tuple[str, float, float], ...] = ()
    """Name of a field, minimum, maximum: the provider refuses numbers outside."""
    vendor_bounds: bool = False
    """The provider enforces the bounds of OpenAI's own API, which the rows of the settings have."""
    most_system_messages: int = 0
    """Maximum number of system messages; 0 for no limit."""
    most_stops: int = 0
    """Maximum number of texts in `stop`; 0 for no limit."""
    last_assistant_needs_prefix: bool = False
    """The last message may be an assistant message only if it has `prefix: true`."""
    prefix_key: str = ""
    """Key of a last assistant message that makes the model continue it."""
    prefix_region: str = ""
    """The only region that has `prefix_key`; empty for all."""
    answers_anew: bool = False
    """The model does not continue a last assistant message: it answers with a new one."""
    tool_parameters: bool = False
    """A function must have `parameters`."""
    pairs_calls: bool = False
    """The host refuses calls without results, and results without calls, before another role."""
    media_words: tuple[tuple[str, str], ...] = ()
    """Modalities, and the host's error message for each where the model does not read it; `{type}`
    is replaced by the type of the part, `{message}` by the path of the message. The host answers
    in spite of the others."""
    refuses_models: tuple[ModelRefusal, ...] = ()
    """Models of the provider that do not answer chat completions."""
    media_from_users_only: bool = False
    """Messages of other roles must not have images, sound or files."""
    ignores_images_of_tools: str = "(?!)"
    """Models that accept images in tool messages, but do not read them, as of `matches_model`."""
    media_are_data_urls: bool = False
    """A file must be the data URL of a PDF, an image a data URL or an http(s) URL."""
    required_of_json_schema: tuple[tuple[str, str], ...] = ()
    """Fields that `response_format.json_schema` must have, each with the server's error message;
    `{path}` is replaced by the path."""
    strict_schemas_are_closed: bool = False
    """In a strict schema, objects must have `additionalProperties: false`, and all properties must
    be required."""
    schemas_are_checked: bool = False
    """The host refuses a schema of a tool or of the output that is not valid JSON Schema."""
    thinks: str = ""
    """The models that think by default, as of `matches_model`; empty for none."""
    thinking_switch: Literal["", "thinking", "enable_thinking"] = ""
    """The key that switches thinking off; empty where the effort `none` does."""
    no_forced_call_while_thinking: bool = False
    """`tool_choice` may not be "required" or a name while the model thinks."""
    models_of: str = ""
    """The vendor whose facts about models the host enforces (`wire.catalogue.facts`); empty if the
    names of its models are those of deployments, or if it is not known."""
    ended_words: str = ""
    """The host's error message for a model of `models_of` that has ended; `{model}` is replaced.
    Empty if it is not known."""
    refuses_efforts: bool = True
    """The host refuses an effort that a model of `models_of` does not have. Others take the nearest
    one that it has, or it is not known what they do: `check` reports a warning."""
    effort_words: str = ""
    """The host's error message for an effort that the model does not have; `{model}`, `{value}` and
    `{values}` are replaced. Empty if it is not known."""

    # --- roles
    developer_role: bool = False
    """The provider has the role `developer`. Most hosts have not, so that `system` replaces it."""

    # --- received messages that are sent back
    verbatim: bool = False
    """The provider accepts the messages that it sent, unchanged. Otherwise only the keys of the
    reference and `takes` are sent back.
    """
    takes: tuple[str, ...] = ()
    """Further keys of messages and tool calls that are sent back."""
    refusals: bool = False
    """The provider accepts refusals in messages that it did not send. Otherwise the refusals of
    other models are sent as texts, with a note."""
    custom_tools: bool = False
    """The provider has custom tools, which take a text. Otherwise they are sent as functions."""
    reasoning_slots: tuple[str, ...] = ()
    """Keys with reasoning that the provider accepts, best first. The first one that a message has
    is sent back, the others are withheld. "content" means thinking parts in the content."""
    reasoning_required: bool = False
    """An assistant message with tool calls must have the first slot, `""` if without reasoning."""
    no_text: Literal["omit", "null", "empty"] = "omit"
    """The content of a message that has tool calls only."""
    invalid_arguments: Literal["as_they_came", "wrapped"] = "as_they_came"
    """How arguments that are not a JSON object are sent back. "wrapped" sends an object with their
    text, for providers that parse the arguments in the history.
    """
    call_ids: CallIds = msgspec.field(default_factory=CallIds)
    """The ids of tool calls that the provider accepts."""

    # --- tools that the host runs
    server_tools: tuple[tuple[str, str], ...] = ()
    """The tools that the host runs: name of a form in `server_tools.py`, and a regular expression
    of the models that take it, empty for all. The first form of a kind counts."""

    # --- what the host keeps
    stores: bool = False
    """The host takes `store`, and may keep a request that does not say false."""
    caching: Caching = Caching()
    """How the host keeps the beginnings of prompts."""

    # --- embeddings
    embedded_texts: int = 2048
    """Maximum number of texts in one request for embeddings; 0 for a host that has none."""
    embedded_tokens: int = 300_000
    """Maximum number of tokens of all texts in one request for embeddings."""
    dimensions_field: Literal["dimensions", "output_dimension"] = "dimensions"
    """The field of the numbers of a vector."""

    # --- decisions
    decisions: Literal["", "list", "map"] = ""
    """The shape of the host's decisions: `list` is OpenAI's, `map` is System One's at OpenRouter.
    Empty for a host that has none."""
    decision_images: bool = False
    """Models of its System One may read images, as parts of chat completions."""

    # --- media
    media: MediaEndpoints = MediaEndpoints()
    """Images, speech and transcripts."""

    # --- responses
    think_tags: Literal["", "tags", "open_implied"] = ""
    """The content has reasoning between `<think>` and `</think>`. "open_implied": the opening tag
    is missing, so everything before `</think>` is reasoning (Q7).
    """
    cumulative_details: bool = False
    """Each text in `reasoning_details` of a stream repeats the earlier ones (Q7)."""
    sends_damaged_chunks: bool = False
    """A stream may have truncated JSON between its chunks. It is dropped and reported as a note;
    from any other host it is a `StreamInvalid` (Q3)."""
    reasoning_outside_output: bool = False
    """`completion_tokens` excludes the tokens of reasoning."""


PLAIN = Dialect()
"""The dialect of an unknown host."""
