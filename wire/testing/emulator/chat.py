"""Chat completions, OpenAI's and those that Google serves beside Gemini: asked of the same model,
told in their shapes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.core.decoders import decoder
from wire.core.memory import sayable
from wire.gemini.types import (
    Content,
    FunctionCall,
    FunctionCallingConfig,
    FunctionDeclaration,
    FunctionResponse,
    GenerateContentRequest,
    GenerationConfig,
    Part,
    Tool,
    ToolConfig,
)
from wire.openai.chat.rules import check
from wire.openai.chat.types import ChatCompletionRequest, Message
from wire.openai.chat.types import FunctionCall as CalledFunction
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.catalog import Traits
from wire.testing.emulator.model import Said
from wire.testing.emulator.refusals import Refusal
from wire.testing.emulator.signatures import Signatures, steps
from wire.testing.emulator.tokens import counted

CREATED = 1795262400
_KIND = (("content-type", "application/json"),)
_FINISHES = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter"}


def chat_refusal(
    status: int,
    message: str,
    kind: str = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
) -> Refusal:
    """A refusal in OpenAI's envelope."""
    error = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Refusal(Answer(status, _KIND, (json.dumps(error, indent=2).encode(),)))


def no_key() -> Refusal:
    """Nobody said who is asking."""
    return chat_refusal(
        401,
        "You didn't provide an API key. You need to provide your API key in an "
        "Authorization header using Bearer auth "
        "(i.e. Authorization: Bearer YOUR_KEY).",
    )


def bad_key() -> Refusal:
    """A key that is none."""
    return chat_refusal(401, "Incorrect API key provided: ***.", code="invalid_api_key")


def as_google(answer: Answer) -> Answer:
    """Google's own endpoint of chat completions wraps errors into a list."""
    body = answer.body.strip()
    return (
        Answer(answer.status, answer.headers, (b"[" + body + b"]\n",), answer.rule)
        if body.startswith(b"{")
        else answer
    )


def chat_request(body: bytes, provider: str, *, era: bool, lenient: bool) -> ChatCompletionRequest:
    """The request that a body is. Raises `Refusal` in OpenAI's words."""
    try:
        request: ChatCompletionRequest = decoder(ChatCompletionRequest).decode(body)
    except msgspec.ValidationError as cause:
        message, _, path = str(cause).partition(" - at `$")
        raise chat_refusal(
            400, f"Invalid type: {message}", param=path.strip("`.") or None
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise chat_refusal(
            400, f"We could not parse the JSON body of your request: {cause}"
        ) from None
    if not request.model:
        raise chat_refusal(400, "you must provide a model parameter", param="model")
    broken = (
        []
        if lenient
        else [each for each in check(request, "", provider) if era or each.severity == "error"]
    )
    if broken:
        raise chat_refusal(400, broken[0].message, param=broken[0].path)
    return request


def as_gemini(request: ChatCompletionRequest) -> GenerateContentRequest:
    """The same request as one for Gemini: the model of this emulator knows no other."""
    system = [
        Part(text=each.text) for each in request.messages if each.role in ("system", "developer")
    ]
    declared = [
        FunctionDeclaration(
            name=each.function.name,
            description=each.function.description,
            parameters_json_schema=each.function.parameters or {},
        )
        for each in request.tools or ()
        if each.function is not None
    ]
    form = request.response_format
    kind = (form and form.type) or "text"
    config: dict[str, Any] = {
        "max_output_tokens": request.max_completion_tokens or request.max_tokens
    }
    config["stop_sequences"] = [request.stop] if isinstance(request.stop, str) else request.stop
    if kind != "text":
        config["response_mime_type"] = "application/json"
    if form is not None and form.json_schema is not None and form.json_schema.schema is not None:
        config["response_json_schema"] = form.json_schema.schema
    return GenerateContentRequest(
        contents=list(
            _contents(
                [each for each in request.messages if each.role not in ("system", "developer")]
            )
        ),
        system_instruction=Content(parts=system) if system else None,
        tools=[Tool(function_declarations=declared)] if declared else None,
        tool_config=ToolConfig(
            function_calling_config=_calling(msgspec.to_builtins(request.tool_choice))
        ),
        generation_config=GenerationConfig(**config),
    )


def _calling(choice: Any) -> FunctionCallingConfig:
    if isinstance(choice, dict):
        named = (choice.get("function") or {}).get("name")
        return FunctionCallingConfig(mode="ANY", allowed_function_names=[named] if named else None)
    return FunctionCallingConfig(
        mode={"none": "NONE", "required": "ANY"}.get(choice or "auto", "AUTO")
    )


def _contents(messages: Sequence[Message]) -> Iterator[Content]:
    names: dict[str | None, str | None] = {}
    results: list[Part] = []
    for message in messages:
        if message.role == "tool":
            result = _object(message.text)
            results.append(
                Part(
                    function_response=FunctionResponse(
                        name=names.get(message.tool_call_id), response=result
                    )
                )
            )
            continue
        if results:
            yield Content(role="user", parts=results)
            results = []
        parts = [Part(text=message.text)] if message.text or not message.tool_calls else []
        for call in message.tool_calls or ():
            function = call.function or CalledFunction()
            names[call.id] = function.name
            signature = ((call.extra_content or {}).get("google") or {}).get("thought_signature")
            made = FunctionCall(name=function.name, args=_object(function.arguments or "{}"))
            parts.append(Part(function_call=made, thought_signature=signature))
        yield Content(role="model" if message.role == "assistant" else "user", parts=parts)
    if results:
        yield Content(role="user", parts=results)


def _object(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        found = text
    return found if isinstance(found, dict) else {"result": found}


# --- answers --------------------------------------------------------------------------------------


class Talker:
    """One answer in the shapes of chat completions."""

    def __init__(
        self,
        request: ChatCompletionRequest,
        asked: GenerateContentRequest,
        model: Traits,
        signatures: Signatures,
        id: str,
    ) -> None:
        self._request, self._asked, self._model, self._signatures = (
            request,
            asked,
            model,
            signatures,
        )
        self._id = f"chatcmpl-{id}"

    def whole(self, said: Said) -> Answer:
        """One whole answer."""
        message: dict[str, Any] = {
            "role": "assistant",
            "content": said.text or None,
            "refusal": None,
        }
        if said.calls:
            message["tool_calls"] = self._calls(said)
        finish = self._finish(said)
        choices = [
            {"index": index, "message": message, "logprobs": None, "finish_reason": finish}
            for index in range(self._request.n or 1)
        ]
        body = {
            **self._head("chat.completion"),
            "choices": choices,
            "usage": self._usage(said),
            "service_tier": "default",
        }
        return Answer(
            200, _KIND, (sayable(json.dumps(body, ensure_ascii=False, indent=2)) + b"\n",)
        )

    def chunks(self, said: Said) -> Iterator[dict[str, Any]]:
        """The same answer as a stream."""
        options = self._request.stream_options
        counts = options is not None and bool(options.include_usage)
        yield self._chunk(
            {
                "role": "assistant",
                "content": None if said.calls and not said.text else "",
                "refusal": None,
            },
            counts,
        )
        for text in said.pieces:
            yield self._chunk({"content": text}, counts)
        for index, call in enumerate(self._calls(said)):
            arguments = call["function"]["arguments"]
            opened = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
            yield self._chunk({"tool_calls": [opened]}, counts)
            for piece in (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]):
                yield self._chunk(
                    {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, counts
                )
        yield self._chunk({}, counts, self._finish(said))
        if counts:
            yield {**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage(said)}

    def _finish(self, said: Said) -> str:
        return "tool_calls" if said.calls else _FINISHES.get(said.finish, "stop")

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": CREATED, "model": self._request.model}

    def _chunk(
        self, delta: dict[str, Any], counts: bool, finish: str | None = None
    ) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {
            **self._head("chat.completion.chunk"),
            "choices": [choice],
            **({"usage": None} if counts else {}),
        }

    def _calls(self, said: Said) -> list[dict[str, Any]]:
        step = len(steps(self._asked.contents or ()))
        found: list[dict[str, Any]] = []
        for place, (name, args) in enumerate(said.calls):
            made = hashlib.sha256(f"{self._id} {place} {name}".encode()).hexdigest()[:24]
            function = {
                "name": name,
                "arguments": json.dumps(args, ensure_ascii=False, separators=(",", ":")),
            }
            call: dict[str, Any] = {"id": f"call_{made}", "type": "function", "function": function}
            if place == 0 and self._model.signs == "last":
                call["extra_content"] = {
                    "google": {
                        "thought_signature": self._signatures.of_call(self._model, name, step)
                    }
                }
            found.append(call)
        return found

    def _usage(self, said: Said) -> dict[str, Any]:
        prompt, spent = (
            sum(counted(self._asked.contents or (), self._asked).values()),
            said.tokens + said.thinking,
        )
        return {
            "prompt_tokens": prompt,
            "completion_tokens": spent,
            "total_tokens": prompt + spent,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": said.thinking, "audio_tokens": 0},
        }


def models(names: Sequence[str], owner: str) -> dict[str, Any]:
    """The list of models as OpenAI has it."""
    return {"object": "list", "data": [described(name, owner) for name in names]}


def described(name: str, owner: str) -> dict[str, Any]:
    """One model as OpenAI has it."""
    return {"id": name, "object": "model", "created": CREATED, "owned_by": owner}
