"""`embed` and `decide`: one call with a client of its own, for threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wire.around.seam import AroundFunction
from wire.auth.credential import Credential
from wire.chat.state import model_name
from wire.core.arguments import checked_names
from wire.core.call import Timeouts
from wire.core.limits import Limits
from wire.core.retry import Retry
from wire.core.secret import Headers, Secret, sealed
from wire.http.client import Client
from wire.http.target import Token, options_of, seal
from wire.neutral.decisions import Decisions, Part, Question
from wire.neutral.embeddings import Embeddings
from wire.wires.providers import model_of


def _sealed(options: Any) -> None:
    """Replace what may be a key in the options by a `Secret`, in place."""
    seal(options, ("texts", "dimensions", "task", "input", "questions"))


@checked_names(seal=_sealed)
def embed(
    texts: str | Sequence[str],
    model: str,
    *,
    dimensions: int | None = None,
    task: str | None = None,
    http: Any = "auto",
    api_key: str | Secret | None = None,
    base_url: str | None = None,
    timeouts: Timeouts | float | None = Timeouts(),
    retry: Retry | None = Retry(),
    headers: Headers | None = None,
    limits: Limits | None = None,
    version: str | None = None,
    project: str | None = None,
    location: str | None = None,
    region: str | None = None,
    resource: str | None = None,
    workspace: str | None = None,
    account: str | None = None,
    token: Token | None = None,
    credentials: Credential | str | None = None,
    dialect: Any = None,
    plain_http: bool = False,
    trust_env: bool = True,
    idempotency_header: str | None = None,
    connection: str = "http",
    around: AroundFunction | Sequence[AroundFunction] | None = None,
) -> Embeddings:
    """Embed texts, and return their vectors in order.

    As `Client.embed`, with a client for this call alone.

    >>> from wire.testing.emulator import EmulatorTransport
    >>> texts = ["The tide is high.", "The tide is low."]
    >>> http = EmulatorTransport()
    >>> high, low = embed(texts, "gemini:gemini-embedding-001", api_key="fake-key", http=http)
    >>> len(high), len(low)
    (3072, 3072)

    For asyncio and trio, and for many calls, `AsyncClient.embed` and `Client.embed` are the same.
    Raises as `Client.embed`.

    Args:
        texts: Texts, or one text. None may be empty.
        model: `provider[@region]:model`, such as `gemini:gemini-embedding-001`.
        dimensions: Numbers of each vector, for models that let you choose. By default, as many as
            the model has.
        task: What the vectors are for: `query`, `document`, `similarity`, `classification`,
            `clustering`, `question`, `fact` or `code`. Only Gemini has it; `notes` of the result
            tell where it is not sent.
        http: A transport or a client of httpx or httpx2, or `"auto"` for connections of its own. It
            is closed after this call.
        api_key: Replaces the provider's environment variable, such as `OPENAI_API_KEY`.
        base_url: Replaces the provider's environment variable (`OPENAI_BASE_URL`), which replaces
            the vendor's host. Scheme, host and the path before the endpoint's
            (`/chat/completions`). The endpoint's path is removed from its end, and so is the
            version for Gemini and Anthropic; `describe()` tells the result.
        timeouts: Seconds. A number limits each single wait: for a connection, for the response
            headers, and between two events or reads; the whole call with its retries still ends
            after 900 s. `None`: no limit at all. `Timeouts(...)` sets each limit; its defaults are
            `connect` 10 s, `first_byte` 300 s, `idle` 120 s, `total` 900 s.
        retry: When to send a failed request again. By default 3 attempts, with waits of up to 1 s,
            then 2 s, or as long as the server asks for, up to 60 s. `None`: one attempt only.
        headers: Further headers of each request. Values that look like keys are shown nowhere.
        limits: Largest sizes of what is received. `None`: the defaults, such as 256 MiB for a body.
        version: Version of the API, if the path or a header contains one. By default, that of the
            provider.
        project: Project of Google Cloud, such as for `gemini@vertex`; replaces
            `GOOGLE_CLOUD_PROJECT`.
        location: Region of Google Cloud, such as for `gemini@vertex`: `europe-west4`, `us`, `eu` or
            `global`; replaces `GOOGLE_CLOUD_LOCATION`.
        region: Region of AWS, such as for `bedrock@invoke`: `us-east-1`; replaces `AWS_REGION`.
        resource: Name of a resource of Azure, such as for `azure`: the first label of its host.
        workspace: Id of a workspace at Anthropic, for `anthropic@aws` and `anthropic@google`.
        account: Id of an account, such as for `cloudflare`.
        token: Function that returns a bearer token, in place of `api_key`. Called before each
            attempt. An `AsyncClient` also accepts an async function.
        credentials: What heads or signs each attempt in place of a key: a value of `wire.auth`,
            such as `SigV4`, or the name of a source, such as `aws` or `aws:profile`. By default,
            the hosts of clouds look where the clients of their vendors do, if there is no key.
        dialect: The `Dialect` of the host; replaces that of its row.
        plain_http: True permits a key over unencrypted http to a host that is not loopback, such as
            one in your own network. Everyone on the way can read the key and the conversation.
        trust_env: False ignores the proxies of the environment, `SSL_CERT_FILE`, `SSL_CERT_DIR` and
            `SSLKEYLOGFILE`. A transport given as `http=` has a setting of its own.
        idempotency_header: Name of a header that carries an id: a new one for each call, the same
            on all its attempts. A gateway that knows the header, such as `Idempotency-Key`, does
            not run a repeated request twice.
        connection: `http`, or `socket`: requests of OpenAI's Responses follow each other on a
            WebSocket, each with only what is new in it; all others go over HTTP. It needs the extra
            `[live]`.
        around: A function, or several, that see each call and may change, answer, delay or refuse
            it; see `wire.around`.
    """
    options = options_of(locals())
    model = sealed(model)  # before anything can raise
    provider, name = model_of(model_name(model, False))
    with Client(provider, http=http, **options) as client:
        return client.embed(texts, name, dimensions=dimensions, task=task)


@checked_names(seal=_sealed)
def decide(
    input: Part | Sequence[Part],
    questions: Mapping[str, Question],
    model: str,
    *,
    http: Any = "auto",
    api_key: str | Secret | None = None,
    base_url: str | None = None,
    timeouts: Timeouts | float | None = Timeouts(),
    retry: Retry | None = Retry(),
    headers: Headers | None = None,
    limits: Limits | None = None,
    version: str | None = None,
    project: str | None = None,
    location: str | None = None,
    region: str | None = None,
    resource: str | None = None,
    workspace: str | None = None,
    account: str | None = None,
    token: Token | None = None,
    credentials: Credential | str | None = None,
    dialect: Any = None,
    plain_http: bool = False,
    trust_env: bool = True,
    idempotency_header: str | None = None,
    connection: str = "http",
    around: AroundFunction | Sequence[AroundFunction] | None = None,
) -> Decisions:
    """Ask closed questions about one input, and return the answers with their probabilities.

    As `Client.decide`, with a client for this call alone.

    >>> from wire import one_of, yes_no
    >>> from wire.testing.emulator import EmulatorTransport
    >>> asked = {"urgent": yes_no("It is urgent."), "team": one_of("Who?", ["sales", "help"])}
    >>> http = EmulatorTransport()
    >>> found = decide("Help!", asked, "openai:gpt-6-luna", api_key="fake-key", http=http)
    >>> found["team"].value in ("sales", "help"), len(found["team"].probabilities)
    (True, 2)

    OpenAI, Gemini and OpenRouter have such an endpoint; other providers are refused. For asyncio
    and trio, and for many calls, `AsyncClient.decide` and `Client.decide` are the same. Raises as
    `Client.decide`.

    Args:
        input: A text, a `Media`, a JSON object, or several of these, or the messages of a
            conversation: what all questions are about.
        questions: Each question by the name of its answer, made by `wire.yes_no`, `wire.one_of` and
            `wire.scale`.
        model: `provider[@region]:model`, such as `openai:gpt-6-luna`.
        http: A transport or a client of httpx or httpx2, or `"auto"` for connections of its own. It
            is closed after this call.
        api_key: Replaces the provider's environment variable, such as `OPENAI_API_KEY`.
        base_url: Replaces the provider's environment variable (`OPENAI_BASE_URL`), which replaces
            the vendor's host. Scheme, host and the path before the endpoint's
            (`/chat/completions`). The endpoint's path is removed from its end, and so is the
            version for Gemini and Anthropic; `describe()` tells the result.
        timeouts: Seconds. A number limits each single wait: for a connection, for the response
            headers, and between two events or reads; the whole call with its retries still ends
            after 900 s. `None`: no limit at all. `Timeouts(...)` sets each limit; its defaults are
            `connect` 10 s, `first_byte` 300 s, `idle` 120 s, `total` 900 s.
        retry: When to send a failed request again. By default 3 attempts, with waits of up to 1 s,
            then 2 s, or as long as the server asks for, up to 60 s. `None`: one attempt only.
        headers: Further headers of each request. Values that look like keys are shown nowhere.
        limits: Largest sizes of what is received. `None`: the defaults, such as 256 MiB for a body.
        version: Version of the API, if the path or a header contains one. By default, that of the
            provider.
        project: Project of Google Cloud, such as for `gemini@vertex`; replaces
            `GOOGLE_CLOUD_PROJECT`.
        location: Region of Google Cloud, such as for `gemini@vertex`: `europe-west4`, `us`, `eu` or
            `global`; replaces `GOOGLE_CLOUD_LOCATION`.
        region: Region of AWS, such as for `bedrock@invoke`: `us-east-1`; replaces `AWS_REGION`.
        resource: Name of a resource of Azure, such as for `azure`: the first label of its host.
        workspace: Id of a workspace at Anthropic, for `anthropic@aws` and `anthropic@google`.
        account: Id of an account, such as for `cloudflare`.
        token: Function that returns a bearer token, in place of `api_key`. Called before each
            attempt. An `AsyncClient` also accepts an async function.
        credentials: What heads or signs each attempt in place of a key: a value of `wire.auth`,
            such as `SigV4`, or the name of a source, such as `aws` or `aws:profile`. By default,
            the hosts of clouds look where the clients of their vendors do, if there is no key.
        dialect: The `Dialect` of the host; replaces that of its row.
        plain_http: True permits a key over unencrypted http to a host that is not loopback, such as
            one in your own network. Everyone on the way can read the key and the conversation.
        trust_env: False ignores the proxies of the environment, `SSL_CERT_FILE`, `SSL_CERT_DIR` and
            `SSLKEYLOGFILE`. A transport given as `http=` has a setting of its own.
        idempotency_header: Name of a header that carries an id: a new one for each call, the same
            on all its attempts. A gateway that knows the header, such as `Idempotency-Key`, does
            not run a repeated request twice.
        connection: `http`, or `socket`: requests of OpenAI's Responses follow each other on a
            WebSocket, each with only what is new in it; all others go over HTTP. It needs the extra
            `[live]`.
        around: A function, or several, that see each call and may change, answer, delay or refuse
            it; see `wire.around`.
    """
    options = options_of(locals())
    model = sealed(model)  # before anything can raise
    provider, name = model_of(model_name(model, False))
    with Client(provider, http=http, **options) as client:
        return client.decide(input, questions, name)
