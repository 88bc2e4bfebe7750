"""Items, their content, and the values in them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.core.facts import SDK, TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIStruct
from wire.openai.responses.types.options import Reasoning, TextOptions
from wire.openai.responses.types.tools import Environment, Tool

# --- items ----------------------------------------------------------------------------------------


class Item(OpenAIStruct, frozen=True, kw_only=True):
    """One item of any type, of the input or of the output: `type`, and the fields of that type.

    A received item is sent back with the bytes in which it came, even if its type is not known
    here. Servers refuse items that are reordered or that lack the item they belong to.
    """

    remembers = True

    type: str | None = None
    """`message`, `reasoning`, `function_call`, `function_call_output`, `custom_tool_call`,
    `custom_tool_call_output`, `item_reference`, `compaction`, `compaction_trigger`,
    `additional_tools`, `configuration_update`. For hosted tools: `web_search_call`,
    `file_search_call`, `code_interpreter_call`, `image_generation_call`, `mcp_list_tools`,
    `mcp_call`, `mcp_approval_request`, `mcp_approval_response`, `tool_search_call`,
    `tool_search_output`, `program`, `program_output`. For tools that the caller runs:
    `local_shell_call`, `shell_call`, `apply_patch_call`, `computer_call`, and each with `_output`.
    In beta: `agent_message`, `multi_agent_call`, `multi_agent_call_output`. Other types are
    possible.

    OpenAI takes a message without it; other hosts do not.
    """
    id: str | None = None
    """Begins with a prefix for the type, such as `rs_`. A server that did not store the item
    refuses its id, unless `encrypted_content` is beside it.
    """
    status: str | None = None
    """`in_progress`, `completed`, `incomplete`, `searching`, `interpreting`, `generating`,
    `calling`, `failed`. A complete response may have hosted calls that are not `completed`.
    """
    role: str | None = None
    """In `message`: `user`, `assistant`, `system`, `developer`; a received one may have `unknown`,
    `critic`, `discriminator`, `tool`. In `additional_tools`: `developer`.
    """
    content: str | list[ContentPart] | None = None
    """In `message`, `reasoning` and `agent_message`. Only hosts that show the reasoning send it in
    `reasoning`; DeepSeek requires it back.
    """
    phase: str | None = None
    """In messages of the assistant: `commentary`, `final_answer`. Send it back."""
    summary: list[ContentPart] | None = None
    """In `reasoning`, where a request must have it, if only as `[]`."""
    encrypted_content: str | None = None
    """In `reasoning` and `compaction`. Opaque; send it back unchanged, to the same organization."""
    call_id: str | None = None
    """In calls and their outputs; at most 64 characters."""
    name: str | None = None
    """Name of the function, of the custom tool or of the tool of an MCP server."""
    namespace: str | None = None
    """The namespace that has the function. Send it back."""
    arguments: str | dict[str, Any] | None = None
    """JSON as text, cut if `status` is `incomplete`. An object in `tool_search_call`."""
    input: str | None = None
    """In `custom_tool_call`: text."""
    output: str | list[ContentPart] | dict[str, Any] | None = None
    """In outputs of calls, where it is required, and in `mcp_call`. A `ContentPart` as an object in
    `computer_call_output`.
    """
    caller: Caller | None = None
    """The caller of the tool. Send it back."""
    async_: Annotated[bool | None, Facts(source=SDK)] = msgspec.field(name="async", default=None)
    """In `function_call` and `custom_tool_call`."""
    created_by: str | None = None
    """The creator of the item, in items that the server lists."""

    # --- of hosted tools
    action: Action | str | None = None
    """In `web_search_call`, `computer_call`, `shell_call`, `local_shell_call`. A text in
    `image_generation_call` (`generate`, `edit`, `auto`) and `multi_agent_call`.
    """
    queries: list[str] | None = None
    """In `file_search_call`."""
    results: list[SearchResult] | None = None
    """In `file_search_call`. Present if `ResponseRequest.include` requests it."""
    code: str | None = None
    """In `code_interpreter_call` and `program`."""
    container_id: str | None = None
    """In `code_interpreter_call`."""
    outputs: list[CodeOutput] | None = None
    """In `code_interpreter_call`. Present if `ResponseRequest.include` requests it."""
    fingerprint: str | None = None
    """In `program`. Opaque; send it back."""
    result: str | None = None
    """In `program_output`, and in `image_generation_call` as base64."""
    server_label: str | None = None
    """In `mcp_list_tools`, `mcp_call`, `mcp_approval_request`: `Tool.server_label`."""
    tools: list[Tool] | None = None
    """In `mcp_list_tools`, `tool_search_output`, `additional_tools`."""
    error: ItemError | str | None = None
    """In `mcp_call`, `mcp_list_tools`, `image_generation_call`."""
    approval_request_id: str | None = None
    """In `mcp_approval_response` and `mcp_call`: the id of the request."""
    approve: bool | None = None
    """In `mcp_approval_response`."""
    reason: str | None = None
    """In `mcp_approval_response`."""
    execution: str | None = None
    """In `tool_search_call` and `tool_search_output`: `server`, `client`."""
    revised_prompt: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """In `image_generation_call`, as the next six."""
    background: Annotated[str | None, Facts(source=TRAFFIC)] = None
    output_format: Annotated[str | None, Facts(source=TRAFFIC)] = None
    quality: Annotated[str | None, Facts(source=TRAFFIC)] = None
    size: Annotated[str | None, Facts(source=TRAFFIC)] = None
    svg_usage: Annotated[dict[str, Any] | None, Facts(source=SDK)] = None
    prompt: Annotated[str | None, Facts(hosts=("xai",), source=TRAFFIC)] = None

    # --- of tools that the caller runs
    actions: list[Action] | None = None
    """In `computer_call`."""
    pending_safety_checks: list[SafetyCheck] | None = None
    """In `computer_call`."""
    acknowledged_safety_checks: list[SafetyCheck] | None = None
    """In `computer_call_output`: the pending ones that the user accepts."""
    operation: PatchOperation | None = None
    """In `apply_patch_call`."""
    environment: Environment | None = None
    """In `shell_call`."""
    max_output_length: int | None = None
    """In `shell_call_output`, in characters."""

    # --- of the configuration, and of several agents
    reasoning: Annotated[Reasoning | None, Facts(source=SDK)] = None
    """In `configuration_update`."""
    text_options: Annotated[TextOptions | None, Facts(source=SDK)] = msgspec.field(
        name="text", default=None
    )
    """`text` in `configuration_update`."""
    agent: Agent | None = None
    """Beta responses_multi_agent=v1: the agent that the item belongs to."""
    author: str | None = None
    """In `agent_message`."""
    recipient: str | None = None
    """In `agent_message`."""

    # --- of other hosts
    format: Annotated[str | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """In `reasoning`: form of `encrypted_content`, such as `google-gemini-v1`."""

    @property
    def text(self) -> str:
        """The text of the content; `""` if it has none."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or ""


class Caller(OpenAIStruct, frozen=True, kw_only=True):
    """The caller of a tool: the model itself, or a program that the model wrote."""

    type: str | None = None
    """`direct`, `program`."""
    caller_id: str | None = None
    """The `call_id` of the program."""


class Agent(OpenAIStruct, frozen=True, kw_only=True):
    """One of several agents of a response."""

    agent_name: str | None = None


# --- content --------------------------------------------------------------------------------------


class ContentPart(OpenAIStruct, frozen=True, kw_only=True):
    """One part of a content, a summary or an output: `type`, and the fields of that type."""

    type: str | None = None
    """`input_text`, `input_image`, `input_file` in messages of the user and in outputs of calls;
    `output_text` and `refusal` in messages of the assistant; `reasoning_text`, `summary_text`,
    `text`, `computer_screenshot`; in beta `encrypted_content`. The parts of `shell_call_output`
    have none.
    """
    text: str | None = None
    refusal: str | None = None
    """In `refusal`: why the model refuses to answer."""
    annotations: list[Annotation] | None = None
    """In `output_text`."""
    logprobs: list[TokenLogprob] | None = None
    """In `output_text`. Present if `ResponseRequest.include` requests it."""
    image_url: str | None = None
    """In `input_image`: a URL or a data URL."""
    detail: str | None = None
    """In `input_image` and `input_file`: `auto`, `low`, `high`; for images `original` too."""
    file_id: str | None = None
    """In `input_image` and `input_file`: a file of the account."""
    filename: str | None = None
    """In `input_file`, beside `file_data`."""
    file_data: str | None = None
    """In `input_file`: a data URL."""
    file_url: str | None = None
    """In `input_file`."""
    prompt_cache_breakpoint: PromptCacheBreakpoint | None = None
    """In `input_text`, `input_image`, `input_file`: the prompt is cached up to here."""
    encrypted_content: str | None = None
    """In `encrypted_content`."""
    stdout: str | None = None
    """In `shell_call_output`, as the next two and `created_by`."""
    stderr: str | None = None
    outcome: Outcome | None = None
    created_by: str | None = None


class PromptCacheBreakpoint(OpenAIStruct, frozen=True, kw_only=True):
    """Marks the end of a part of the prompt to cache."""

    mode: str | None = None
    """`explicit`."""


class Outcome(OpenAIStruct, frozen=True, kw_only=True):
    """How a command of a shell ended."""

    type: str | None = None
    """`exit`, `timeout`."""
    exit_code: int | None = None


class Annotation(OpenAIStruct, frozen=True, kw_only=True):
    """A source of a segment of the text, or a file that the text mentions.

    xAI omits all fields but `type` and `url` at times.
    """

    type: str | None = None
    """`url_citation`, `file_citation`, `container_file_citation`, `file_path`."""
    url: str | None = None
    title: str | None = None
    start_index: int | None = None
    """In characters."""
    end_index: int | None = None
    file_id: str | None = None
    filename: str | None = None
    container_id: str | None = None
    index: int | None = None
    """In `file_citation` and `file_path`: position in the text."""


class TopLogprob(OpenAIStruct, frozen=True, kw_only=True):
    """One of the most likely tokens of a step."""

    token: str | None = None
    logprob: float | None = None
    bytes: list[int] | None = None
    """UTF-8 of the token, which may be part of a character."""


class TokenLogprob(TopLogprob, frozen=True, kw_only=True):
    """The token of one step, and the most likely ones."""

    top_logprobs: list[TopLogprob] | None = None


# --- values of hosted tools -----------------------------------------------------------------------


class Action(OpenAIStruct, frozen=True, kw_only=True):
    """The action of a call: a step of a web search, an input to a computer, or shell commands."""

    type: str | None = None
    """In `web_search_call`: `search`, `open_page`, `find_in_page`. In `computer_call`: `click`,
    `double_click`, `drag`, `keypress`, `move`, `screenshot`, `scroll`, `type`, `wait`. In
    `local_shell_call`: `exec`. Absent in `shell_call`.
    """
    query: str | None = None
    """In `search`, as the next two."""
    queries: list[str] | None = None
    sources: list[SearchSource] | None = None
    """Present if `ResponseRequest.include` requests it."""
    url: str | None = None
    """In `open_page` and `find_in_page`."""
    pattern: str | None = None
    """In `find_in_page`."""
    button: str | None = None
    """In `click`: `left`, `right`, `wheel`, `back`, `forward`."""
    x: int | None = None
    y: int | None = None
    scroll_x: int | None = None
    scroll_y: int | None = None
    path: list[Point] | None = None
    """In `drag`."""
    keys: list[str] | None = None
    """In `keypress`; elsewhere the keys that are held."""
    text: str | None = None
    """In `type`."""
    commands: list[str] | None = None
    """In `shell_call`, as the next two."""
    timeout_ms: int | None = None
    max_output_length: int | None = None
    """In characters."""
    command: list[str] | None = None
    """In `exec`, as the next three: the program and its arguments."""
    env: dict[str, str] | None = None
    working_directory: str | None = None
    user: str | None = None


class Point(OpenAIStruct, frozen=True, kw_only=True):
    """A place on the screen, in pixels."""

    x: int | None = None
    y: int | None = None


class SearchSource(OpenAIStruct, frozen=True, kw_only=True):
    """A page that a web search used."""

    type: str | None = None
    """`url`; `api` for data other than a page."""
    url: str | None = None
    name: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """In `api`."""


class SearchResult(OpenAIStruct, frozen=True, kw_only=True):
    """A segment of a file that a file search found."""

    file_id: str | None = None
    filename: str | None = None
    text: str | None = None
    score: float | None = None
    """0 to 1."""
    attributes: dict[str, str | float | bool] | None = None
    """The attributes of the file."""
    vector_store_id: Annotated[str | None, Facts(source=TRAFFIC)] = None


class CodeOutput(OpenAIStruct, frozen=True, kw_only=True):
    """The text or the image that a run of the code interpreter produced."""

    type: str | None = None
    """`logs`, `image`."""
    logs: str | None = None
    url: str | None = None


class ItemError(OpenAIStruct, frozen=True, kw_only=True):
    """Why the call of a hosted tool failed."""

    type: str | None = None
    """`mcp_protocol_error`, `mcp_tool_execution_error`, `http_error`."""
    code: int | str | None = None
    message: str | None = None
    content: Any = None
    """In `mcp_tool_execution_error`: what the tool answered."""


class SafetyCheck(OpenAIStruct, frozen=True, kw_only=True):
    """A warning that the user must accept before the computer is used."""

    id: str | None = None
    code: str | None = None
    message: str | None = None


class PatchOperation(OpenAIStruct, frozen=True, kw_only=True):
    """A change of one file."""

    type: str | None = None
    """`create_file`, `update_file`, `delete_file`."""
    path: str | None = None
    diff: str | None = None
    """Absent in `delete_file`."""
