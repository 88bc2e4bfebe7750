"""Agents, environments, triggers and webhooks, which Interactions use by their ids."""

from __future__ import annotations

from wire.gemini.interactions.types.base import InteractionsRequestStruct, InteractionsStruct
from wire.gemini.interactions.types.request import (
    AgentConfig,
    Environment,
    InteractionRequest,
    NetworkAllowlist,
    Source,
)
from wire.gemini.interactions.types.tools import Tool

# --- agents ---------------------------------------------------------------------------------------


class Agent(InteractionsRequestStruct, frozen=True, kw_only=True):
    """An agent of your own, which `InteractionRequest.agent` names."""

    id: str | None = None
    base_agent: str | None = None
    """The agent of Google that it extends."""
    description: str | None = None
    system_instruction: str | None = None
    tools: list[Tool] | None = None
    """Of the types `code_execution`, `function`, `google_search`, `mcp_server`, `url_context`."""
    agent_config: AgentConfig | None = None
    base_environment: Environment | str | None = None
    """The sandbox that its runs begin with: what it has, or the id of one."""


class AgentList(InteractionsStruct, frozen=True, kw_only=True):
    """One page of agents."""

    agents: list[Agent] | None = None
    next_page_token: str | None = None


# --- environments ---------------------------------------------------------------------------------


class CreateEnvironmentRequest(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A request for a sandbox."""

    from_environment: str | None = None
    """The id of another one, which is copied."""
    network: NetworkAllowlist | str | None = None
    """What it may reach; `disabled` is nothing."""
    sources: list[Source] | None = None
    """Files that it begins with."""


class StoredEnvironment(InteractionsStruct, frozen=True, kw_only=True):
    """A sandbox, which `InteractionRequest.environment` names."""

    id: str | None = None
    created: str | None = None
    updated: str | None = None
    last_accessed: str | None = None
    status: str | None = None
    """`active`, `expired`."""
    file_count: int | None = None
    size_bytes: int | None = None
    network: NetworkAllowlist | str | None = None
    sources: list[Source] | None = None


class EnvironmentList(InteractionsStruct, frozen=True, kw_only=True):
    """One page of sandboxes."""

    environments: list[StoredEnvironment] | None = None
    next_page_token: str | None = None


class EnvironmentFile(InteractionsStruct, frozen=True, kw_only=True):
    """A file or a folder of a sandbox."""

    name: str | None = None
    path: str | None = None
    type: str | None = None
    """`file`, `directory`."""
    mime_type: str | None = None
    size_bytes: int | None = None
    created: str | None = None
    modified: str | None = None


class EnvironmentFileList(InteractionsStruct, frozen=True, kw_only=True):
    """One page of files."""

    files: list[EnvironmentFile] | None = None
    next_page_token: str | None = None


# --- triggers -------------------------------------------------------------------------------------


class CreateTriggerRequest(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A request for a trigger."""

    interaction: InteractionRequest | None = None
    """What is started: an interaction of an agent."""
    schedule: str | None = None
    """When, in the form of cron: `0 9 * * 1`."""
    time_zone: str | None = None
    """A name such as `Europe/Paris`."""
    display_name: str | None = None
    environment_id: str | None = None
    execution_timeout_seconds: int | None = None
    max_consecutive_failures: int | None = None
    """Failures in a row after which the trigger stops."""


class Trigger(InteractionsStruct, frozen=True, kw_only=True):
    """An interaction that is started again and again, by the clock."""

    id: str | None = None
    interaction: InteractionRequest | None = None
    schedule: str | None = None
    time_zone: str | None = None
    display_name: str | None = None
    environment_id: str | None = None
    execution_timeout_seconds: int | None = None
    max_consecutive_failures: int | None = None
    consecutive_failure_count: int | None = None
    status: str | None = None
    """`active`, `paused`, `error`."""
    previous_interaction_id: str | None = None
    create_time: str | None = None
    update_time: str | None = None
    last_run_time: str | None = None
    next_run_time: str | None = None
    last_pause_time: str | None = None
    last_resume_time: str | None = None


class TriggerUpdate(InteractionsRequestStruct, frozen=True, kw_only=True):
    """What is changed of a trigger."""

    display_name: str | None = None
    status: str | None = None
    """`active`, `paused`, `error`."""


class TriggerList(InteractionsStruct, frozen=True, kw_only=True):
    """One page of triggers."""

    triggers: list[Trigger] | None = None
    next_page_token: str | None = None


class TriggerExecution(InteractionsStruct, frozen=True, kw_only=True):
    """One start of a trigger."""

    id: str | None = None
    trigger_id: str | None = None
    interaction_id: str | None = None
    """The interaction that was started."""
    environment_id: str | None = None
    status: str | None = None
    """`in_progress`, `completed`, `failed`, `skipped`, `timed_out`."""
    error: str | None = None
    scheduled_time: str | None = None
    start_time: str | None = None
    end_time: str | None = None


class TriggerExecutionList(InteractionsStruct, frozen=True, kw_only=True):
    """One page of starts."""

    trigger_executions: list[TriggerExecution] | None = None
    next_page_token: str | None = None


# --- webhooks -------------------------------------------------------------------------------------


class CreateWebhookRequest(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A request for a webhook."""

    uri: str | None = None
    """Where the server sends its events."""
    subscribed_events: list[str] | None = None
    """`interaction.completed`, `interaction.failed`, `interaction.requires_action`,
    `batch.succeeded`, `batch.failed`, `batch.expired`, `video.generated`."""
    name: str | None = None


class Webhook(InteractionsStruct, frozen=True, kw_only=True):
    """A URL to which the server sends events. Each has a signature (Standard Webhooks)."""

    id: str | None = None
    name: str | None = None
    uri: str | None = None
    subscribed_events: list[str] | None = None
    """As in `CreateWebhookRequest`."""
    state: str | None = None
    """`enabled`, `disabled`, `disabled_due_to_failed_deliveries`."""
    new_signing_secret: str | None = None
    """The key of the signatures. Only the answer to the request that makes the webhook has it."""
    signing_secrets: list[SigningSecret] | None = None
    create_time: str | None = None
    update_time: str | None = None


class SigningSecret(InteractionsStruct, frozen=True, kw_only=True):
    """A key of signatures that is valid."""

    truncated_secret: str | None = None
    """Its first letters."""
    expire_time: str | None = None


class WebhookUpdate(InteractionsRequestStruct, frozen=True, kw_only=True):
    """What is changed of a webhook."""

    name: str | None = None
    uri: str | None = None
    subscribed_events: list[str] | None = None
    """As in `CreateWebhookRequest`."""
    state: str | None = None
    """`enabled`, `disabled`."""


class WebhookList(InteractionsStruct, frozen=True, kw_only=True):
    """One page of webhooks."""

    webhooks: list[Webhook] | None = None
    next_page_token: str | None = None


class RotateSecretRequest(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A request for a new key of signatures."""

    revocation_behavior: str | None = None
    """`revoke_previous_secrets_after_h24`, `revoke_previous_secrets_immediately`."""


class RotatedSecret(InteractionsStruct, frozen=True, kw_only=True):
    """A new key of signatures."""

    secret: str | None = None


class Empty(InteractionsStruct, frozen=True, kw_only=True):
    """An empty answer: of a request that deletes, or that tries a webhook."""
