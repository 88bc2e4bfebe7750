"""OpenAI's Responses: whole and streamed, scripts, faults, encrypted reasoning, refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from tests.testing.emulator.asks import said
from tests.testing.emulator.response_asks import (
    ENCRYPTED,
    KEY,
    QUESTION,
    RESPONSES,
    TEXT,
    WEATHER,
    answered,
    ask,
    error,
    events,
    kinds,
    send,
)
from wire.openai.responses.rows import ROWS
from wire.testing.emulator import Cut, Emulator
from wire.testing.emulator.vendors.openai.responses.hosts import HOSTS

# The keys of a whole response, as OpenAI sent them in August 2026.
KEYS = [
    *("id", "object", "created_at", "status", "background", "billing", "completed_at", "error"),
    *("frequency_penalty", "incomplete_details", "instructions", "max_output_tokens"),
    *("max_tool_calls", "model", "moderation", "output", "parallel_tool_calls"),
    *("presence_penalty", "previous_response_id", "prompt_cache_key", "prompt_cache_retention"),
    *("reasoning", "safety_identifier", "service_tier", "store", "temperature", "text"),
    *("tool_choice", "tool_usage", "tools", "top_logprobs", "top_p", "truncation", "usage"),
    *("user", "metadata"),
]
MESSAGE = [
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
]


def part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


# --- whole ----------------------------------------------------------------------------------------


def test_a_whole_response() -> None:
    found = said(ask(Emulator(), metadata={"a": "b"}, instructions="Be brief."))
    assert list(found) == KEYS
    assert found["object"] == "response"
    assert found["id"].startswith("resp_")
    assert (found["status"], found["store"], found["error"]) == ("completed", True, None)
    assert (found["metadata"], found["instructions"]) == ({"a": "b"}, "Be brief.")
    assert found["billing"] == {"payer": "developer"}
    [message] = found["output"]
    assert message.pop("id").startswith("msg_")
    assert message == {
        "type": "message",
        "status": "completed",
        "content": [part(TEXT)],
        "phase": "final_answer",
        "role": "assistant",
    }
    assert found["usage"] == {
        "input_tokens": 5,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 15,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 20,
    }


def test_parallel_calls_and_their_results() -> None:
    emulator = Emulator()
    output = said(ask(emulator, [QUESTION], tools=[WEATHER], store=False))["output"]
    assert [item["type"] for item in output] == ["function_call", "function_call"]
    assert [item["arguments"] for item in output] == ['{"city":"Paris"}', '{"city":"Oslo"}']
    assert [item["id"][:3] for item in output] == ["fc_", "fc_"]
    assert len({item["call_id"] for item in output}) == 2
    found = said(ask(emulator, [QUESTION, *answered(output)], tools=[WEATHER], store=False))
    assert found["output"][0]["content"][0]["text"] == (
        'Your tool get_weather says {"result": "sunny"} and get_weather says {"result": "sunny"}.'
    )
    alone = said(ask(emulator, [QUESTION], tools=[WEATHER], parallel_tool_calls=False))
    assert len(alone["output"]) == 1


def test_a_custom_tool_has_free_text() -> None:
    tool = {"type": "custom", "name": "run_sql", "description": "Runs SQL"}
    script = [{"say": {"calls": [{"name": "run_sql", "args": {"input": "select 1"}}]}}]
    answer = ask(Emulator(script), "Run some SQL", tools=[tool], stream=True)
    found = events(answer)
    assert kinds(found)[2:-1] == [
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
    ]
    call = found[-1]["response"]["output"][0]
    assert (call["type"], call["name"], call["input"]) == (
        "custom_tool_call",
        "run_sql",
        "select 1",
    )
    assert call["id"].startswith("ctc_")
    # Without a script the small model calls it, too.
    assert said(ask(Emulator(), "run_sql please", tools=[tool]))["output"][0]["name"] == "run_sql"


def test_tools_of_the_input_are_tools() -> None:
    """As codex declares them for gpt-5.6-sol and later models: in an item, and in namespaces."""
    inner = {"type": "custom", "name": "run_sql", "description": "Runs SQL"}
    space = {"type": "namespace", "name": "functions", "description": "", "tools": [inner]}
    item = {"type": "additional_tools", "role": "developer", "tools": [space, WEATHER]}
    script = [{"say": {"calls": [{"name": "run_sql", "args": {"input": "select 1"}}]}}]
    [call] = said(ask(Emulator(script), [item, QUESTION]))["output"]
    assert (call["type"], call["name"], call["input"]) == (
        "custom_tool_call",
        "run_sql",
        "select 1",
    )
    assert "namespace" not in call
    # Without a script the small model calls them, too.
    output = said(ask(Emulator(), [item, QUESTION]))["output"]
    assert [each["name"] for each in output] == ["get_weather", "get_weather"]
    [call] = said(ask(Emulator(), "run_sql please", tools=[space]))["output"]
    assert call["type"] == "custom_tool_call"


def test_a_schema_and_a_limit() -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "name": "place", "schema": schema, "strict": True}
    found = said(ask(Emulator(), "Where is Oslo?", text={"format": form}))
    assert found["output"][0]["content"] == [part('{"city": "Oslo"}')]
    assert found["text"] == {"format": form, "verbosity": "medium"}
    cut = said(ask(Emulator(), "word " * 90, max_output_tokens=16))
    assert (cut["status"], cut["incomplete_details"]) == (
        "incomplete",
        {"reason": "max_output_tokens"},
    )
    assert cut["output"][0]["status"] == "incomplete"
    assert cut["usage"]["output_tokens"] == 16


def test_a_stored_prompt_needs_no_model() -> None:
    prompt = {"id": "pmpt_1", "variables": {"word": "tide", "part": {"text": "high"}}}
    found = said(send(Emulator(), "POST", RESPONSES, {"prompt": prompt}))
    assert found["model"] == "gpt-5.4-mini"
    assert found["output"][0]["content"][0]["text"].endswith("You said: tide high")


def test_a_search_is_an_item_of_the_server() -> None:
    found = events(ask(Emulator(), tools=[{"type": "web_search"}], stream=True))
    assert kinds(found)[2:8] == [
        "output_item.added",
        "web_search_call.in_progress",
        "web_search_call.searching",
        "web_search_call.completed",
        "output_item.done",
        "output_item.added",
    ]
    search, message = found[-1]["response"]["output"]
    assert search["action"] == {"type": "search", "query": "This is an emulator, and no"}
    [annotation] = message["content"][0]["annotations"]
    assert (annotation["type"], annotation["end_index"]) == ("url_citation", len(TEXT))
    [added] = [each for each in found if each["type"].endswith("annotation.added")]
    assert (added["annotation"], added["annotation_index"]) == (annotation, 0)


def test_log_probabilities() -> None:
    found = said(ask(Emulator(), model="gpt-4o", top_logprobs=1))
    logs = found["output"][0]["content"][0]["logprobs"]
    assert "".join(each["token"] for each in logs) == TEXT
    assert logs[0]["top_logprobs"] == [{k: logs[0][k] for k in ("token", "logprob", "bytes")}]


# --- streams --------------------------------------------------------------------------------------


def test_the_order_of_events() -> None:
    answer = ask(Emulator(), stream=True, model="gpt-5.6", reasoning={"summary": "auto"})
    assert dict(answer.headers)["content-type"] == "text/event-stream; charset=utf-8"
    assert b"[DONE]" not in answer.body
    found = events(answer)
    assert kinds(found) == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        *MESSAGE,
        "completed",
    ]
    assert [each["sequence_number"] for each in found] == list(range(len(found)))
    begun, last = found[0]["response"], found[-1]["response"]
    assert (begun["status"], begun["output"], begun["usage"]) == ("in_progress", [], None)
    assert set(begun) == set(last) == set(KEYS) - {"billing"}
    assert begun["id"] == last["id"]
    for index, item in enumerate(last["output"]):
        own = [each for each in found if each.get("output_index") == index]
        assert {each["item_id"] for each in own if "item_id" in each} == {item["id"]}
        added, done = own[0]["item"], own[-1]["item"]
        assert (added["id"], done["id"]) == (item["id"], item["id"])
    message = last["output"][1]
    deltas = [each for each in found if each["type"] == "response.output_text.delta"]
    assert "".join(each["delta"] for each in deltas) == message["content"][0]["text"] == TEXT
    assert found[-2]["item"] == message
    assert own[0]["item"] == {**message, "status": "in_progress", "content": []}


def test_deltas_are_padded_unless_the_request_says_no() -> None:
    def deltas(**more: Any) -> list[Any]:
        found = events(ask(Emulator(), stream=True, **more))
        return [each for each in found if each["type"].endswith(".delta")]

    padded = deltas()
    assert all((len(each["delta"]) + len(each["obfuscation"])) % 16 == 0 for each in padded)
    plain = deltas(stream_options={"include_obfuscation": False})
    assert [each["delta"] for each in plain] == [each["delta"] for each in padded]
    assert all("obfuscation" not in each for each in plain)


def test_arguments_in_pieces() -> None:
    found = events(ask(Emulator(), [QUESTION], tools=[WEATHER], stream=True))
    second = [each for each in found if each.get("output_index") == 1]
    assert kinds(second) == [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert second[0]["item"]["arguments"] == ""
    assert second[0]["item"]["status"] == "in_progress"
    assert "".join(each.get("delta", "") for each in second) == '{"city":"Oslo"}'
    assert second[-2]["arguments"] == second[-1]["item"]["arguments"] == '{"city":"Oslo"}'
    assert "name" not in second[-2]  # as recorded, whatever the reference says


# --- scripts and faults ---------------------------------------------------------------------------


def test_what_a_script_says_as_text_and_calls() -> None:
    say = {"text": "Let me look.", "calls": [{"name": "get_weather", "args": {"city": "Paris"}}]}
    found = said(ask(Emulator([{"say": say}]), tools=[WEATHER]))
    assert [item["type"] for item in found["output"]] == ["message", "function_call"]
    assert found["output"][0]["phase"] == "commentary"
    assert found["status"] == "completed"


def test_a_refusal() -> None:
    script = [{"times": 0, "say": {"text": "I cannot help with that.", "finish": "refusal"}}]
    emulator = Emulator(script)
    message = said(ask(emulator))["output"][0]
    refusal = {"type": "refusal", "refusal": "I cannot help with that."}
    assert message["content"] == [refusal]
    found = events(ask(emulator, stream=True))
    assert kinds(found)[3:7] == [
        "content_part.added",
        "refusal.delta",
        "refusal.done",
        "content_part.done",
    ]
    assert [each["part"] for each in found if "part" in each] == [
        {"type": "refusal", "refusal": ""},
        refusal,
    ]
    # It goes back as it came.
    assert ask(emulator, [message, {"role": "user", "content": "Why?"}], store=False).status == 200


@pytest.mark.parametrize("finish", ["SAFETY", "content_filter"])
def test_a_filtered_response_is_incomplete(finish: str) -> None:
    found = events(ask(Emulator([{"say": {"text": "Once", "finish": finish}}]), stream=True))
    last = found[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "content_filter"}
    assert last["response"]["completed_at"] is None


def test_a_failed_response() -> None:
    script = [{"times": 0, "say": {"text": "Once", "finish": "failed"}}]
    words = "The server had an error while processing your request. Sorry about that!"
    failure = {"code": "server_error", "message": words}
    whole = said(ask(Emulator(script)))
    assert (whole["status"], whole["error"], whole["usage"]) == ("failed", failure, None)
    found = events(ask(Emulator(script), stream=True))
    assert kinds(found)[-2:] == ["error", "failed"]
    # Nested, as recorded; the reference has it flat.
    assert found[-2] == {
        "type": "error",
        "error": {"type": "server_error", **failure, "param": None},
        "sequence_number": len(found) - 2,
    }
    assert found[-1]["response"]["error"] == failure


def test_an_error_event_as_the_reference_has_it() -> None:
    script = [{"say": {"text": "Once", "finish": "error"}}]
    last = events(ask(Emulator(script), stream=True))[-1]
    assert last.pop("message").startswith("The server had an error")
    assert last.pop("sequence_number") > 2
    assert last == {"type": "error", "code": "server_error", "param": None}


def test_a_scripts_own_response() -> None:
    output = [
        {"type": "mcp_call", "name": "look", "arguments": "{}", "server_label": "s", "output": "1"},
        {"type": "shiny_call", "shine": 7},
    ]
    script = [{"times": 0, "answer": {"output": output, "usage": {"input_tokens": 3}}}]
    whole = said(ask(Emulator(script)))
    assert [{k: v for k, v in each.items() if k != "id"} for each in whole["output"]] == output
    assert whole["output"][0]["id"].startswith("mcp_")
    assert (whole["usage"], whole["model"]) == ({"input_tokens": 3}, "gpt-5.4")
    found = events(ask(Emulator(script), stream=True))
    assert kinds(found)[2:-1] == [
        "output_item.added",
        "mcp_call.in_progress",
        "mcp_call_arguments.delta",
        "mcp_call_arguments.done",
        "mcp_call.completed",
        "output_item.done",
        "output_item.added",
        "output_item.done",
    ]
    assert found[-1]["response"]["output"][1]["shine"] == 7


def test_a_scripts_own_events() -> None:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part("Ho")]}
    script = [
        {"type": "response.created", "response": {"id": "resp_1", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "output": []}},
    ]
    emulator = Emulator([{"times": 0, "stream": script}])
    assert events(ask(emulator, stream=True)) == script
    whole = said(ask(emulator))
    assert (whole["id"], whole["output"]) == ("resp_1", [item])


def test_a_stream_that_breaks() -> None:
    good = ask(Emulator(), stream=True)
    cut = ask(Emulator([{"fault": "cut; after=3"}]), stream=True)
    assert cut.pieces == (*good.pieces[:3], Cut())
    failed = events(ask(Emulator([{"fault": "error; after=2; status=503"}]), stream=True))
    assert kinds(failed) == ["created", "in_progress", "error"]
    assert failed[-1] == {
        "type": "error",
        "sequence_number": 2,
        "error": {
            "message": "The engine is currently overloaded, please try again later",
            "type": "server_error",
            "param": None,
            "code": None,
        },
    }
    assert error(ask(Emulator([{"fault": "429; message=Slow."}]))) == (
        429,
        "Slow.",
        None,
        "rate_limit_exceeded",
    )


def test_a_script_names_the_endpoint() -> None:
    script = [{"match": {"endpoint": "responses", "text": "^hi$"}, "say": "Ho!"}]
    assert said(ask(Emulator(script)))["output"][0]["content"] == [part("Ho!")]


# --- reasoning ------------------------------------------------------------------------------------


def reasoning(emulator: Emulator, **more: Any) -> Any:
    """The reasoning item of a whole response, or None."""
    output = said(ask(emulator, **{"model": "gpt-5-mini", **more}))["output"]
    return output[0] if output[0]["type"] == "reasoning" else None


def test_what_a_reasoning_item_holds() -> None:
    emulator = Emulator()
    plain = reasoning(emulator)
    assert plain.pop("id").startswith("rs_")
    assert plain == {"type": "reasoning", "summary": []}
    [summary] = reasoning(emulator, reasoning={"summary": "auto"})["summary"]
    assert summary["type"] == "summary_text"
    assert "The user said: hi" in summary["text"]
    secret = reasoning(emulator, include=[ENCRYPTED])
    assert list(secret) == ["id", "type", "content", "encrypted_content", "summary"]
    assert secret["encrypted_content"].startswith("gAAAAA")
    assert "encrypted_content" in reasoning(emulator, model="gpt-5.6")  # unasked
    assert reasoning(emulator, model="gpt-5.6", reasoning={"effort": "none"}) is None
    assert reasoning(emulator, model="gpt-4o") is None
    assert reasoning(emulator, model="gpt-5.4") is None
    assert reasoning(emulator, model="gpt-5.4", reasoning={"effort": "low"}) is not None


def test_a_script_may_think_where_the_model_can() -> None:
    script = [{"times": 0, "say": {"thoughts": "Hm.", "text": "Ho!"}}]
    shown = reasoning(Emulator(script), model="gpt-5.4", reasoning={"summary": "auto"})
    assert shown["summary"] == [{"type": "summary_text", "text": "Hm."}]
    assert reasoning(Emulator(script), model="gpt-4o") is None


def test_encrypted_content_is_known_again_in_each_form() -> None:
    emulator = Emulator()
    options: dict[str, Any] = {
        "model": "gpt-5.4",
        "reasoning": {"effort": "low"},
        "include": [ENCRYPTED],
        "store": False,
        "tools": [WEATHER],
    }
    found = events(ask(emulator, [QUESTION], stream=True, **options))
    output = found[-1]["response"]["output"]
    own = [each["item"] for each in found if each.get("output_index") == 0 and "item" in each]
    forms = [item["encrypted_content"] for item in (*own, output[0])]
    assert len(set(forms)) == 3
    assert len(forms[0]) < len(forms[1]) == len(forms[2])
    for form in forms:
        sent = answered([{**output[0], "encrypted_content": form}, *output[1:]])
        without_ids = [{k: v for k, v in item.items() if k != "id"} for item in sent]
        for items in (sent, without_ids):
            answer = ask(emulator, [QUESTION, *items], **options)
            assert said(answer)["output"][-1]["type"] == "message"


def test_encrypted_content_of_others_is_refused() -> None:
    options: dict[str, Any] = {"model": "gpt-5.6", "store": False, "tools": [WEATHER]}
    emulator = Emulator()
    output = said(ask(emulator, [QUESTION], **options))["output"]
    sent = [QUESTION, *answered(output)]
    content = output[0]["encrypted_content"]
    refused = (
        400,
        f"The encrypted content {content[:4]}...{content[-4:]} could not be verified. Reason: "
        "Encrypted content could not be decrypted or parsed.",
        None,
        "invalid_encrypted_content",
    )
    assert ask(emulator, sent, **options).status == 200
    assert error(ask(Emulator(seed=1), sent, **options)) == refused
    other = {"openai-organization": "org-other"}
    assert error(ask(emulator, sent, headers=other, **options)) == refused
    assert error(ask(emulator, sent, target="/api/v1/responses", **options))[3] == refused[3]
    changed = content[:200] + ("A" if content[200] != "A" else "B") + content[201:]
    sent[1] = {**output[0], "encrypted_content": changed}
    assert error(ask(emulator, sent, **options)) == refused
    assert ask(Emulator(lenient=True), sent, **options).status == 200
    sent[1] = {**output[0], "encrypted_content": "Hm."}  # as Ollama sends thoughts
    assert error(ask(emulator, sent, **options))[3] == "invalid_encrypted_content"


def test_encrypted_content_of_a_script_is_accepted() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "secret"}
    added = {**item, "encrypted_content": "first"}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": added},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]
    message = {"role": "assistant", "content": "Ho", "type": "message"}
    sent = [item, message, {"role": "user", "content": "hi"}]
    for step in ({"answer": {"output": [item]}}, {"stream": events}):
        emulator = Emulator([step])
        assert ask(emulator, sent, store=False).status == 400
        ask(emulator, stream="stream" in step)
        assert ask(emulator, sent, store=False).status == 200
    assert ask(emulator, [added, *sent[1:]], store=False).status == 200


# --- refusals -------------------------------------------------------------------------------------


def test_a_model_that_is_not_there() -> None:
    words = "The requested model 'gpt-9' does not exist."
    assert error(ask(Emulator(), model="gpt-9")) == (400, words, "model", "model_not_found")
    assert ask(Emulator(), model="gpt-audio").status == 400
    assert ask(Emulator(), model="gpt-5-pro").status == 200
    assert ask(Emulator(lenient=True), model="gpt-9").status == 200


def test_a_rule_has_its_words_and_its_id() -> None:
    emulator = Emulator()
    assert error(ask(emulator, top_logprobs=2, model="gpt-5-mini")) == (
        400,
        "logprobs are not supported with reasoning models.",
        "top_logprobs",
        "unsupported_parameter",
    )
    assert emulator.requests[0]["rule"] == "P18"
    orphan = {"type": "function_call_output", "call_id": "call_1", "output": "x"}
    assert error(ask(emulator, [orphan])) == (
        400,
        "No tool call found for function call output with call_id call_1.",
        "input",
        None,
    )
    assert ask(Emulator(lenient=True), [orphan]).status == 200


@joined(
    ("body", "wanted"),
    [
        (b"{", (400, "We could not parse the JSON body of your request: ")),
        (b'{"model": "gpt-5.4", "input": 7}', (400, "Invalid type for 'input': expected one of a")),
        (b'{"model": "gpt-5.4", "input": "x", "tools": 7}', (400, "Invalid type for 'tools': Exp")),
        (b'{"model": "gpt-5.4", "input": "x", "nose": 7}', (400, "Unknown parameter: 'nose'.")),
        (b'{"input": "x"}', (400, "Missing required parameter: 'model'.")),
        (b'{"model": "gpt-5.4"}', (400, "Missing required parameter: 'input'.")),
        (b'{"model": 7, "input": "x"}', (400, "Invalid type for 'model': Expected `str | null`")),
    ],
)
def test_a_malformed_body(body: bytes, wanted: tuple[int, str]) -> None:
    answer = Emulator().answer("POST", RESPONSES, KEY, body)
    status, words = wanted
    assert answer.status == status
    assert error(answer)[1].startswith(words)


def test_a_key_beside_those_of_the_reference() -> None:
    """Codex sends it with any key. Chat completions refuse it (decolua/9router#1157)."""
    metadata = {"x-codex-installation-id": "any-id"}
    assert ask(Emulator(), client_metadata=metadata).status == 200
    message = {"role": "user", "content": "x"}
    body = {"model": "gpt-5.4", "messages": [message], "client_metadata": metadata}
    chat = Emulator().answer("POST", "/v1/chat/completions", KEY, json.dumps(body).encode())
    assert error(chat)[:2] == (400, "Unknown parameter: 'client_metadata'.")


def test_keys_and_methods() -> None:
    assert error(Emulator().answer("POST", RESPONSES, {}, b"{}"))[0] == 401
    wrong = {"authorization": "Bearer bad-key"}
    assert error(Emulator().answer("POST", RESPONSES, wrong, b"{}"))[3] == "invalid_api_key"
    assert send(Emulator(), "GET", RESPONSES).status == 405


# --- hosts ----------------------------------------------------------------------------------------


def test_each_row_has_a_host() -> None:
    assert {row.family for row in ROWS} <= set(HOSTS)
    assert set(HOSTS) - {row.family for row in ROWS} == {"github-copilot"}


def blocks(answer: Any) -> list[str]:
    found: list[str] = answer.body.decode().removesuffix("\n\n").split("\n\n")
    return found


def test_openrouter_has_overlapping_items_and_an_end_marker() -> None:
    answer = ask(
        Emulator(),
        target="/api/v1/responses",
        model="google/gemini-3-flash",
        reasoning={"effort": "low"},
        include=[ENCRYPTED],
        stream=True,
    )
    comment, *found, marker = blocks(answer)
    assert (comment, marker) == (": OPENROUTER PROCESSING", "data: [DONE]")
    told = [json.loads(block.removeprefix("data: ")) for block in found]
    indices = [(e["type"][20:], e["output_index"]) for e in told if "output_item" in e["type"]]
    assert indices == [(".added", 0), (".added", 1), (".done", 1), (".done", 0)]
    thought = [each["item"] for each in told if each.get("output_index") == 0]
    assert "encrypted_content" not in thought[0]
    last = told[-1]["response"]
    assert last["id"].startswith("gen-")
    assert last["output"][0]["encrypted_content"] == thought[-1]["encrypted_content"]
    assert last["output"][0]["id"] != thought[-1]["id"]
    assert last["usage"]["is_byok"] is False
    assert said(ask(Emulator(), target="/api/v1/responses", model="a/b"))["store"] is False
    refused = ask(Emulator(), target="/api/v1/responses", model="a/b", store=True)
    assert refused.status == 400


def test_xai_has_ids_and_errors_of_its_own() -> None:
    answer = ask(Emulator(), model="grok-4.3", stream=True)
    assert answer.body.startswith(b": keepalive\n\nevent: response.created\n")
    last = json.loads(blocks(answer)[-1].split("data: ")[1])["response"]
    assert len(last["id"]) == 36
    assert last["output"][0]["id"].startswith("rs_")
    assert last["output"][0]["summary"][0]["type"] == "summary_text"
    assert last["usage"]["num_sources_used"] == 0
    emulator = Emulator(provider="xai")
    wrong = ask(emulator, model="gpt-5.4")
    assert (wrong.status, json.loads(wrong.body)) == (
        400,
        {"code": "invalid-argument", "error": "Model not found: gpt-5.4"},
    )
    busy = ask(emulator, model="grok-4.3", headers={"x-wire-fault": "429"})
    assert json.loads(busy.body)["error"] == "Rate limit reached for requests"
    odd = ask(emulator, model="grok-4.3", headers={"x-wire-fault": "boom"})
    assert json.loads(odd.body)["error"].startswith("x-wire-fault: fault: 'boom' is unknown")


def test_deepseek_shows_its_reasoning_and_stores_nothing() -> None:
    emulator = Emulator()
    found = said(ask(emulator, model="deepseek-v4-flash", target="/responses"))
    thought, message = found["output"]
    assert thought["content"][0]["type"] == "reasoning_text"
    assert "encrypted_content" not in thought
    assert message["phase"] == "final_answer"
    assert found["store"] is False
    assert send(emulator, "GET", f"/responses/{found['id']}").status == 404
    later = ask(emulator, model="deepseek-v4-flash", target="/responses", background=True)
    assert said(later)["status"] == "completed"
    call = {"type": "function_call", "call_id": "call-a", "name": "f", "arguments": "{}"}
    refused = ask(
        emulator, [thought, call, QUESTION], model="deepseek-v4-flash", target="/responses"
    )
    words = "No tool output found for tool call call-a."
    assert error(refused) == (400, words, None, "invalid_request_error")


def test_the_service_behind_a_login_of_chatgpt() -> None:
    target = "/backend-api/codex/responses"
    body = {"store": False, "stream": True, "instructions": "Be brief."}
    found = events(ask(Emulator(), target=target, **body))
    assert kinds(found)[-2:] == ["output_item.done", "completed"]
    assert found[-2]["item"]["content"] == [part(TEXT)]
    assert found[-1]["response"]["output"] == []
    for change, words in (
        ({"max_output_tokens": 99}, "Unsupported parameter: max_output_tokens"),
        ({"store": True}, "Store must be set to false"),
    ):
        answer = ask(Emulator(), target=target, **{**body, **change})
        assert (answer.status, json.loads(answer.body)) == (400, {"detail": words})


def test_copilot_has_a_new_id_in_each_event() -> None:
    client = {"copilot-integration-id": "vscode-chat"}
    found = events(ask(Emulator(), headers=client, stream=True))
    ids = [each.get("item_id") or each.get("item", each.get("response"))["id"] for each in found]
    assert len(set(ids)) == len(found)
    item = {**found[-1]["response"]["output"][0], "id": "any-id"}
    assert ask(Emulator(), [item], headers=client).status == 200
    assert "metadata" not in found[-1]["response"]
    assert "copilot_usage" in found[-1]


def test_llama_cpp_and_ollama_refuse_what_they_cannot_read() -> None:
    shim = Emulator(provider="llama.cpp")
    assert list(said(ask(shim, model="qwen"))) == [
        "id",
        "object",
        "created_at",
        "status",
        "completed_at",
        "model",
        "output",
        "usage",
    ]
    secret = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
    assert error(ask(shim, [secret], model="qwen"))[1] == "item['content'] is not an array"
    untyped = [{"role": "assistant", "content": "x"}]
    assert error(ask(shim, untyped, model="qwen"))[1] == "Cannot determine type of 'item'"
    chained = ask(shim, model="qwen", previous_response_id="resp_1")
    assert error(chained)[1] == "llama.cpp does not support 'previous_response_id'."
    ollama = Emulator([{"say": {"thoughts": "Hm.", "text": "Ho!"}}], provider="ollama")
    thought = said(ask(ollama, model="qwen3"))["output"][0]
    assert (thought["encrypted_content"], thought["summary"][0]["text"]) == ("Hm.", "Hm.")
    reference = {"type": "item_reference", "id": "msg_1"}
    words = 'input[0]: unknown input item type: "item_reference"'
    assert error(ask(ollama, [reference], model="qwen3"))[1] == words
    # In silence, as there.
    assert ask(ollama, model="qwen3", previous_response_id="resp_1").status == 200


def test_vllm_has_events_of_its_own() -> None:
    script = [{"say": {"thoughts": "Hm.", "text": "Ho!"}}]
    found = events(ask(Emulator(script, provider="vllm"), model="qwen", stream=True))
    assert "reasoning_part.added" in kinds(found)
    assert "reasoning_part.done" in kinds(found)
