"""Agents, environments, triggers and webhooks of Interactions, as calls.

Source of paths and bodies: google-genai 3.4.0, November 2026. Uploads and downloads of files of an
environment are not here: the reference has no structs for them.
"""

from __future__ import annotations

import functools
from typing import TypeVar

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.core.errors import ConfigurationError
from wire.core.memory import WireStruct
from wire.core.path_segment import path_segment
from wire.gemini.interactions.endpoints import JSON, WIRE
from wire.gemini.interactions.error_body import parse_error
from wire.gemini.interactions.reader import parse_plain
from wire.gemini.interactions.types import (
    Agent,
    AgentList,
    CreateEnvironmentRequest,
    CreateTriggerRequest,
    CreateWebhookRequest,
    Empty,
    EnvironmentFileList,
    EnvironmentList,
    RotatedSecret,
    RotateSecretRequest,
    StoredEnvironment,
    Trigger,
    TriggerExecution,
    TriggerExecutionList,
    TriggerList,
    TriggerUpdate,
    Webhook,
    WebhookList,
    WebhookUpdate,
)

W = TypeVar("W", bound=WireStruct)

# --- agents ---------------------------------------------------------------------------------------


@checked_arguments()
def create_agent(agent: Agent) -> Call[Agent]:
    """Build a call that makes an agent.

    >>> create_agent(Agent(id="tides", base_agent="antigravity-preview-09-2026")).body
    b'{"id":"tides","base_agent":"antigravity-preview-09-2026"}'
    """
    return _sent(Agent, "POST", "/agents", agent, Agent, "agent")


@checked_arguments()
def list_agents(
    *, page_size: int | None = None, page_token: str = "", parent: str = ""
) -> Call[AgentList]:
    """Build a call that returns one page of agents; `parent` is a project and location of Vertex.

    >>> list_agents(page_size=2).target
    '/agents?page_size=2'
    """
    return _got(AgentList, "/agents", page_size, page_token, parent=parent)


@checked_arguments()
def get_agent(agent_id: str) -> Call[Agent]:
    """Build a call that returns an agent.

    >>> get_agent("tides").path
    '/agents/tides'
    """
    return _got(Agent, _path("agents", "agent_id", agent_id))


@checked_arguments()
def delete_agent(agent_id: str) -> Call[Empty]:
    """Build a call that deletes an agent.

    >>> delete_agent("tides").method
    'DELETE'
    """
    return _call(Empty, "DELETE", _path("agents", "agent_id", agent_id))


# --- environments ---------------------------------------------------------------------------------


@checked_arguments()
def create_environment(request: CreateEnvironmentRequest) -> Call[StoredEnvironment]:
    """Build a call that makes a sandbox.

    >>> create_environment(CreateEnvironmentRequest(network="disabled")).body
    b'{"network":"disabled"}'
    """
    kind = CreateEnvironmentRequest
    return _sent(StoredEnvironment, "POST", "/environments", request, kind)


@checked_arguments()
def list_environments(
    *, page_size: int | None = None, page_token: str = ""
) -> Call[EnvironmentList]:
    """Build a call that returns one page of sandboxes.

    >>> list_environments().path
    '/environments'
    """
    return _got(EnvironmentList, "/environments", page_size, page_token)


@checked_arguments()
def get_environment(environment_id: str) -> Call[StoredEnvironment]:
    """Build a call that returns a sandbox.

    >>> get_environment("env_1").path
    '/environments/env_1'
    """
    return _got(StoredEnvironment, _path("environments", "environment_id", environment_id))


@checked_arguments()
def delete_environment(environment_id: str) -> Call[Empty]:
    """Build a call that deletes a sandbox.

    >>> delete_environment("env_1").method
    'DELETE'
    """
    return _call(Empty, "DELETE", _path("environments", "environment_id", environment_id))


@checked_arguments()
def list_environment_files(
    environment_id: str,
    path: str,
    *,
    recursive: bool = False,
    page_size: int | None = None,
    page_token: str = "",
) -> Call[EnvironmentFileList]:
    """Build a call that returns one page of the files of a folder of a sandbox.

    >>> list_environment_files("env_1", "data/tides", recursive=True).target
    '/environments/env_1/files/data/tides?recursive=true'

    Raises `ConfigurationError` for a path that begins with a slash, or leads out of the sandbox.
    """
    inside = path_segment("path", path, "data/tides", parts=True)
    at = f"{_path('environments', 'environment_id', environment_id)}/files/{inside}"
    return _got(
        EnvironmentFileList, at, page_size, page_token, recursive="true" if recursive else ""
    )


# --- triggers -------------------------------------------------------------------------------------


@checked_arguments()
def create_trigger(request: CreateTriggerRequest) -> Call[Trigger]:
    """Build a call that makes a trigger.

    >>> request = CreateTriggerRequest(schedule="0 9 * * 1", time_zone="Europe/Paris")
    >>> create_trigger(request).path
    '/triggers'
    """
    return _sent(Trigger, "POST", "/triggers", request, CreateTriggerRequest)


@checked_arguments()
def list_triggers(
    *, page_size: int | None = None, page_token: str = "", filter: str = ""
) -> Call[TriggerList]:
    """Build a call that returns one page of triggers.

    >>> list_triggers(page_token="a").target
    '/triggers?page_token=a'
    """
    return _got(TriggerList, "/triggers", page_size, page_token, filter=filter)


@checked_arguments()
def get_trigger(trigger_id: str) -> Call[Trigger]:
    """Build a call that returns a trigger.

    >>> get_trigger("t1").path
    '/triggers/t1'
    """
    return _got(Trigger, _path("triggers", "trigger_id", trigger_id))


@checked_arguments()
def update_trigger(trigger_id: str, update: TriggerUpdate) -> Call[Trigger]:
    """Build a call that changes a trigger, such as to pause it.

    >>> update_trigger("t1", TriggerUpdate(status="paused")).method
    'PATCH'
    """
    path = _path("triggers", "trigger_id", trigger_id)
    return _sent(Trigger, "PATCH", path, update, TriggerUpdate, "update")


@checked_arguments()
def delete_trigger(trigger_id: str) -> Call[Empty]:
    """Build a call that deletes a trigger.

    >>> delete_trigger("t1").method
    'DELETE'
    """
    return _call(Empty, "DELETE", _path("triggers", "trigger_id", trigger_id))


@checked_arguments()
def run_trigger(trigger_id: str) -> Call[TriggerExecution]:
    """Build a call that starts a trigger now.

    >>> run_trigger("t1").path
    '/triggers/t1/executions'
    """
    path = f"{_path('triggers', 'trigger_id', trigger_id)}/executions"
    return _call(TriggerExecution, "POST", path)


@checked_arguments()
def list_trigger_executions(
    trigger_id: str, *, page_size: int | None = None, page_token: str = ""
) -> Call[TriggerExecutionList]:
    """Build a call that returns one page of the starts of a trigger.

    >>> list_trigger_executions("t1").path
    '/triggers/t1/executions'
    """
    path = f"{_path('triggers', 'trigger_id', trigger_id)}/executions"
    return _got(TriggerExecutionList, path, page_size, page_token)


# --- webhooks -------------------------------------------------------------------------------------


@checked_arguments()
def create_webhook(request: CreateWebhookRequest) -> Call[Webhook]:
    """Build a call that makes a webhook. Its answer alone has the key of the signatures.

    >>> events = ["interaction.completed"]
    >>> request = CreateWebhookRequest(uri="https://a.example/", subscribed_events=events)
    >>> create_webhook(request).path
    '/webhooks'
    """
    return _sent(Webhook, "POST", "/webhooks", request, CreateWebhookRequest)


@checked_arguments()
def list_webhooks(*, page_size: int | None = None, page_token: str = "") -> Call[WebhookList]:
    """Build a call that returns one page of webhooks.

    >>> list_webhooks().path
    '/webhooks'
    """
    return _got(WebhookList, "/webhooks", page_size, page_token)


@checked_arguments()
def get_webhook(webhook_id: str) -> Call[Webhook]:
    """Build a call that returns a webhook.

    >>> get_webhook("w1").path
    '/webhooks/w1'
    """
    return _got(Webhook, _path("webhooks", "webhook_id", webhook_id))


@checked_arguments()
def update_webhook(
    webhook_id: str, update: WebhookUpdate, *, update_mask: str = ""
) -> Call[Webhook]:
    """Build a call that changes a webhook; `update_mask` names the fields that count.

    >>> update_webhook("w1", WebhookUpdate(state="disabled"), update_mask="state").target
    '/webhooks/w1?update_mask=state'
    """
    path, query = _path("webhooks", "webhook_id", webhook_id), _query(update_mask=update_mask)
    return _sent(Webhook, "PATCH", path, update, WebhookUpdate, "update", query)


@checked_arguments()
def delete_webhook(webhook_id: str) -> Call[Empty]:
    """Build a call that deletes a webhook.

    >>> delete_webhook("w1").method
    'DELETE'
    """
    return _call(Empty, "DELETE", _path("webhooks", "webhook_id", webhook_id))


@checked_arguments()
def ping_webhook(webhook_id: str) -> Call[Empty]:
    """Build a call that makes the server send an event to try a webhook.

    >>> ping_webhook("w1").path
    '/webhooks/w1:ping'
    """
    return _call(Empty, "POST", f"{_path('webhooks', 'webhook_id', webhook_id)}:ping")


@checked_arguments()
def rotate_signing_secret(
    webhook_id: str, request: RotateSecretRequest | None = None
) -> Call[RotatedSecret]:
    """Build a call that returns a new key of the signatures of a webhook.

    >>> rotate_signing_secret("w1").path
    '/webhooks/w1:rotateSigningSecret'
    """
    path = f"{_path('webhooks', 'webhook_id', webhook_id)}:rotateSigningSecret"
    given = RotateSecretRequest() if request is None else request
    return _sent(RotatedSecret, "POST", path, given, RotateSecretRequest)


# --- parts of a call ------------------------------------------------------------------------------


def _path(resource: str, parameter: str, name: str) -> str:
    return f"/{resource}/{path_segment(parameter, name, 'a1')}"


def _query(**given: str) -> dict[str, str]:
    for name, value in given.items():
        if not isinstance(value, str):
            raise ConfigurationError(f"{name}: expected a text")
    return {name: value for name, value in given.items() if value}


def _got(
    kind: type[W], path: str, page_size: int | None = None, page_token: str = "", **more: str
) -> Call[W]:
    if page_size is not None and (type(page_size) is not int or page_size < 1):
        raise ConfigurationError("page_size: expected a whole number from 1 up")
    size = "" if page_size is None else str(page_size)
    query = _query(page_size=size, page_token=page_token, **more)
    return _call(kind, "GET", path, query=query)


def _sent(
    kind: type[W],
    method: str,
    path: str,
    request: WireStruct,
    expected: type[WireStruct],
    name: str = "request",
    query: dict[str, str] | None = None,
) -> Call[W]:
    if not isinstance(request, expected):
        raise wrong_type(name, request, expected.__name__)
    body, _ = checked_body(request)
    return _call(kind, method, path, body, query)


def _call(
    kind: type[W],
    method: str,
    path: str,
    body: bytes | None = None,
    query: dict[str, str] | None = None,
) -> Call[W]:
    parse = functools.partial(parse_plain, kind)
    return Call(
        WIRE,
        method,
        path,
        body or b"",
        query=query or {},
        headers={} if body is None else JSON,
        parse=parse,
        read_error=parse_error,
    )
