"""Citations of each wire: what the vendor names, at positions of the reply's text."""

from __future__ import annotations

import json
from typing import Any

from tests.joined import joined
from wire import anthropic, gemini, openai
from wire.anthropic.reader import parse_message
from wire.gemini.reader import parse_response
from wire.neutral.messages import Citation, Reply, ServerToolCall, ServerToolResult, Text, Thought
from wire.openai import responses
from wire.openai.chat.reader import parse_completion
from wire.openai.responses.reader import parse_response as parse_item_response

WAVES = "🌊 Flut: 05:12"
"""One character of four bytes, then others of one."""
PAGE = {"uri": "https://a.example/", "title": "A"}


def of_gemini(*parts: dict[str, Any], **candidate: Any) -> Reply:
    body = {"candidates": [{"content": {"parts": list(parts)}, **candidate}]}
    return gemini.parse_reply(parse_response(json.dumps(body).encode()))


def of_messages(*blocks: dict[str, Any]) -> Reply:
    body = {"content": list(blocks), "stop_reason": "end_turn"}
    return anthropic.parse_reply(parse_message(json.dumps(body).encode()))


def of_responses(*items: dict[str, Any]) -> Reply:
    body = {"status": "completed", "output": list(items)}
    return responses.parse_reply(parse_item_response(json.dumps(body).encode()))


def of_chat(message: dict[str, Any], **response: Any) -> Reply:
    body = {"choices": [{"message": message, "finish_reason": "stop"}], **response}
    return openai.parse_reply(parse_completion(json.dumps(body).encode()))


def grounded(segment: dict[str, Any], **support: Any) -> dict[str, Any]:
    supports = [{"segment": segment, "groundingChunkIndices": [0], **support}]
    return {"groundingChunks": [{"web": PAGE}], "groundingSupports": supports}


A = Citation(url="https://a.example/", title="A")
SEGMENTS: list[tuple[list[str], dict[str, Any], tuple[int | None, int | None]]] = [
    ([WAVES], {"startIndex": 5, "endIndex": 9, "text": "Flut"}, (2, 6)),
    ([WAVES], {"endIndex": 4, "text": "🌊"}, (0, 1)),
    ([WAVES], {"startIndex": 5, "endIndex": 9}, (2, 6)),
    (["Ebbe. ", WAVES], {"startIndex": 11, "endIndex": 15, "text": "Flut"}, (8, 12)),
    (["Ebbe. ", WAVES], {"partIndex": 1, "startIndex": 5, "endIndex": 9, "text": "Flut"}, (8, 12)),
    # Gemini 3 counts characters that it does not send (recorded).
    ([WAVES], {"startIndex": 7, "endIndex": 11, "text": "Flut"}, (2, 6)),
    ([WAVES], {"startIndex": 5, "endIndex": 9, "text": "Neap"}, (None, None)),
    ([WAVES], {"startIndex": 5, "endIndex": 99}, (None, None)),
    ([WAVES], {}, (None, None)),
]


@joined("texts, segment, span", SEGMENTS)
def test_bytes_of_gemini_are_positions_in_the_text(
    texts: list[str], segment: dict[str, Any], span: tuple[int | None, int | None]
) -> None:
    parts = [{"text": text, "thoughtSignature": "QQ=="} for text in texts]
    [cited] = of_gemini(*parts, groundingMetadata=grounded(segment)).citations
    assert (cited.start, cited.end, cited.url) == (*span, "https://a.example/")
    assert (cited.extra is None) == (span[0] is not None or not segment)
    if cited.extra:
        assert cited.extra == {"segment": segment}


def test_a_thought_of_gemini_is_no_text_that_is_counted() -> None:
    parts = ({"text": "Hm. ", "thought": True}, {"text": WAVES})
    segment = {"startIndex": 5, "endIndex": 9, "text": "Flut"}
    [cited] = of_gemini(*parts, groundingMetadata=grounded(segment)).citations
    assert (cited.start, cited.end) == (2, 6)


def test_a_source_is_one_citation_for_each_span_and_one_without_if_it_has_none() -> None:
    chunks = [
        {"web": PAGE},
        {
            "retrievedContext": {
                "title": "b.txt",
                "text": "Ebb.",
                "fileSearchStore": "fileSearchStores/b",
                "pageNumber": 3,
            }
        },
        {"maps": {"uri": "https://maps.example/", "title": "Brest", "placeId": "places/c"}},
    ]
    supports = [
        {"segment": {"endIndex": 4, "text": "🌊"}, "groundingChunkIndices": [0, 1, 9]},
        {
            "segment": {"startIndex": 5, "endIndex": 9, "text": "Flut"},
            "groundingChunkIndices": [0],
            "confidenceScores": [0.5],
        },
    ]
    grounding = {"groundingChunks": chunks, "groundingSupports": supports}
    b = {"title": "b.txt", "text": "Ebb.", "source": "fileSearchStores/b"}
    assert of_gemini({"text": WAVES}, groundingMetadata=grounding).citations == (
        Citation(url="https://a.example/", title="A", start=0, end=1),
        Citation(**b, start=0, end=1, extra={"pageNumber": 3}),
        Citation(
            url="https://a.example/", title="A", start=2, end=6, extra={"confidenceScore": 0.5}
        ),
        Citation(url="https://maps.example/", title="Brest", source="places/c"),
    )


def test_quotations_and_pages_that_gemini_read() -> None:
    quoted = {"citationSources": [{"startIndex": 5, "endIndex": 9, "uri": "https://q.example/"}]}
    vertex = {"citations": [{}, {"endIndex": 99, "uri": "https://v.example/", "license": "mit"}]}
    read = {
        "urlMetadata": [
            {"retrievedUrl": url, "urlRetrievalStatus": f"URL_RETRIEVAL_STATUS_{status}"}
            for url, status in (
                ("https://q.example/", "SUCCESS"),
                ("https://r.example/", "SUCCESS"),
                ("https://e.example/", "ERROR"),
            )
        ]
    }
    reply = of_gemini(
        {"text": WAVES}, citationMetadata={**quoted, **vertex}, urlContextMetadata=read
    )
    assert reply.citations == (
        Citation(url="https://q.example/", start=2, end=6),
        Citation(url="https://v.example/", extra={"endIndex": 99, "license": "mit"}),
        Citation(url="https://r.example/"),
    )


def test_a_block_of_messages_is_the_span_of_its_citations() -> None:
    document = {
        "type": "page_location",
        "cited_text": "Ebb.",
        "document_index": 0,
        "document_title": "tides.pdf",
        "file_id": "file_1",
        "start_page_number": 1,
        "end_page_number": 2,
    }
    result = {
        "type": "search_result_location",
        "source": "kb/1",
        "title": "KB",
        "cited_text": "Neap.",
        "search_result_index": 0,
        "start_block_index": 0,
        "end_block_index": 1,
    }
    reply = of_messages(
        {"type": "thinking", "thinking": "Hm.", "signature": "QQ=="},
        {"type": "text", "text": "🌊 "},
        {"type": "text", "text": "ebbs", "citations": [document, result]},
        {"type": "text", "text": "."},
    )
    first, second = reply.citations
    assert [reply.text[each.start : each.end] for each in reply.citations] == ["ebbs", "ebbs"]
    assert (first.title, first.source, first.text) == ("tides.pdf", "file_1", "Ebb.")
    assert first.extra == {
        "type": "page_location",
        "document_index": 0,
        "start_page_number": 1,
        "end_page_number": 2,
    }
    assert (second.title, second.source, second.url) == ("KB", "kb/1", "")


def message(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(parts)}


def output_text(text: str, *annotations: dict[str, Any]) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": list(annotations)}


def test_annotations_of_responses_count_from_the_text_of_their_part() -> None:
    page = {"type": "url_citation", "url": "https://a.example/", "title": "A"}
    reply = of_responses(
        message(
            output_text("Wait. "), output_text(WAVES, page | {"start_index": 2, "end_index": 6})
        ),
        {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x"}},
        {"role": "assistant", "content": "Ebbe. "},
        message(
            output_text(
                "See b.txt.",
                {"type": "file_citation", "file_id": "file-1", "filename": "b.txt", "index": 9},
                page,
                page | {"start_index": 0, "end_index": 99},
            )
        ),
    )
    a, file, bare, wrong = reply.citations
    assert (reply.text[a.start : a.end], a.extra) == ("Flut", {"type": "url_citation"})
    assert (file.source, file.title, file.start, file.end) == ("file-1", "b.txt", 34, 34)
    assert (reply.text[34:], bare.start, bare.end) == (".", None, None)
    assert (wrong.start, wrong.extra) == (
        None,
        {"type": "url_citation", "start_index": 0, "end_index": 99},
    )


def test_sources_of_chat_completions() -> None:
    page = {"url": "https://a.example/", "title": "A", "start_index": 2, "end_index": 6}
    unknown = {"url": "https://b.example/", "start_index": 0, "end_index": 0, "content": "Ebb."}
    flat = {"type": "url_citation", "url": "https://c.example/", "summary": "C", "site_name": "c"}
    file = {"type": "file", "file": {"hash": "h", "content": []}}
    nested = [{"type": "url_citation", "url_citation": each} for each in (page, unknown, page)]
    reply = of_chat(
        {"role": "assistant", "content": WAVES, "annotations": [*nested, flat, file]},
        citations=["https://a.example/", "https://d.example/"],
        search_results=[
            {"url": "https://d.example/", "title": "D", "snippet": "Neap.", "date": "2026-11-01"},
            {"url": "", "title": "E"},
        ],
    )
    assert reply.citations == (
        Citation(url="https://a.example/", title="A", start=2, end=6),
        Citation(url="https://b.example/", text="Ebb."),
        Citation(
            url="https://c.example/",
            text="C",
            extra={"type": "url_citation", "site_name": "c"},
        ),
        Citation(url="https://d.example/", title="D", text="Neap.", extra={"date": "2026-11-01"}),
        Citation(title="E"),
    )


def test_tools_that_groq_ran_stand_between_the_thoughts_and_the_text() -> None:
    executed = [
        {"index": 0, "type": "function", "name": "browser.search", "arguments": '{"query":"x"}'},
        {
            "index": 0,
            "type": "browser_search",
            "name": "browser.search",
            "arguments": '{"query":"x"}',
            "output": "L0",
            "search_results": {"results": [{"url": "https://a.example/"}]},
        },
        {"index": 1, "type": "python", "arguments": "no JSON", "output": "4"},
    ]
    reply = of_chat(
        {"role": "assistant", "reasoning": "Hm.", "content": "Four.", "executed_tools": executed}
    )
    search, python = {"name": "browser.search", "kind": "web_search"}, {"name": "python"}
    found = {"output": "L0", "results": [{"url": "https://a.example/"}]}
    assert reply.message.parts == (
        Thought("Hm.", slot="reasoning"),
        ServerToolCall(**search, arguments={"query": "x"}),
        ServerToolResult(**search, content=found),
        ServerToolCall(**python, kind="code", arguments=None),
        ServerToolResult(**python, kind="code", content="4"),
        Text("Four."),
    )
    assert reply.tool_calls == ()


def test_half_a_surrogate_pair_in_a_source_costs_only_its_character() -> None:
    """A server may cut a text between the two halves of a pair; the reply is read all the same."""
    url, half = "https://a.example/", "half \ud83d"
    cited = {"type": "url_citation", "url": url, "title": half, "start_index": 0, "end_index": 3}
    output = {"type": "output_text", "text": "Ebb", "annotations": [cited]}
    page = {"type": "web_search_result_location", "url": url, "title": half, "cited_text": half}
    replies = [
        of_responses({"type": "message", "role": "assistant", "content": [output]}),
        of_chat(
            {"content": "Ebb", "annotations": [{"type": "url_citation", "url_citation": cited}]}
        ),
        of_chat({"content": "Ebb"}, search_results=[{"url": url, "title": half}]),
        of_messages({"type": "text", "text": "Ebb", "citations": [page]}),
        of_gemini(
            {"text": "Ebb"},
            groundingMetadata=grounded({})
            | {"groundingChunks": [{"web": {"uri": url, "title": half}}]},
        ),
    ]
    for reply in replies:
        [found] = reply.citations
        assert (found.url, found.title) == (url, "half \ufffd")
    [text] = replies[0].message.parts
    assert isinstance(text, Text)
    assert text.extra == {"annotations": [{**cited, "title": "half \ufffd"}]}
