"""Bodies that nearly break a rule, or break a rule of another model or host."""

from __future__ import annotations

from .bodies import (
    ANY,
    AT_THE_ROOT,
    BIG_ENUM,
    DUMMY,
    FLASH2,
    FLASH3,
    FLASH25,
    FLASH35,
    FLASH36,
    FLASH37,
    GO,
    HELLO,
    IMAGE,
    LITE25,
    NO_TYPE_LIST,
    PNG,
    PRO25,
    PRO31,
    SIGNED,
    SOUND,
    Miss,
    call,
    config,
    function,
    json_schema,
    model,
    nested,
    result,
    root,
    said,
    schema,
    talk,
    thinking,
    tools,
    user,
)

MISSES: dict[str, Miss] = {
    "G1-null": Miss(
        "G1", said(toolConfig=None, tools=[{"codeExecution": None}], mood=None), FLASH25
    ),
    "G1-both-spellings": Miss(
        "G1", said(tool_config={"retrieval_config": {"lat_lng": {"latitude": 1}}}), FLASH25
    ),
    "G1-vertex": Miss("G1", said(labels={"a": "b"}), FLASH25, "vertex"),
    "G1-no-model": Miss("G1", said(labels={"a": "b"}), ANY, ""),
    "G1-file-in-result": Miss(
        "G1", talk([call()], user(result(parts=[{"fileData": {"fileUri": "u"}}]))), FLASH3
    ),
    "G1-free-object": Miss(
        "G1",
        talk([call(args={"mood": {"x": 1}})], user(result(response={"x": {"y": None}}))),
        FLASH3,
    ),
    "G2": Miss("G2", said(systemInstruction={"parts": [{"text": "a"}]}), FLASH25),
    "G2-vertex": Miss("G2", said(tools=[]), FLASH25, "vertex", "v1"),
    "G3-null": Miss("G3", said(toolConfig=None, tool_config={}), ANY),
    "G3-sidecar": Miss(
        "G3",
        said(GO, model({"text": "a", "thought": True, "thoughtSignature": SIGNED}), GO),
        FLASH3,
    ),
    "G5": Miss("G5", said(), ANY),
    "G6-signature": Miss(
        "G6", said(GO, model({"thought": True, "thoughtSignature": SIGNED}), GO), FLASH3
    ),
    "G6-empty-text": Miss("G6", said(user({"text": ""})), FLASH25),
    "G7": Miss("G7", said(systemInstruction={"parts": [{"text": ""}]}), FLASH25),
    "G8-none": Miss("G8", said({"parts": [{"text": "a"}]}), FLASH25),
    "G8-function": Miss("G8", talk([call()], {"role": "function", "parts": [result()]}), FLASH25),
    "G8-unknown-model": Miss("G8", said({"role": "assistant", "parts": [{"text": "a"}]}, GO), ANY),
    "G9-assistant": Miss("G9", said({"role": "assistant", "parts": [{"text": "a"}]}, GO), FLASH36),
    "G10-merged": Miss(
        "G10", said(GO, model(call()), model(call("g")), user(result(), result("g"))), FLASH3
    ),
    "G10-after-results": Miss(
        "G10", talk([call()], user(result()), model(call("g")), user(result("g"))), FLASH3
    ),
    "G11-server-run": Miss("G11", said(GO, model(call(), result(), {"text": "a"}), GO), FLASH25),
    "G11-server-run-apart": Miss("G11", said(GO, model(call()), model(result()), GO), FLASH25),
    "G12-no-model": Miss("G12", talk([call(), call("g")], user(result()), user(result("g"))), ANY),
    "G12-pieces": Miss(
        "G12",
        talk(
            [call(), {"functionCall": {"willContinue": True}}, {"functionCall": {}}], user(result())
        ),
        FLASH3,
        "vertex",
    ),
    "G12-text-apart": Miss("G12", talk([call()], user(result()), GO, HELLO, GO), FLASH36, "vertex"),
    "G13-gemini": Miss("G13", talk([call()], user(result(), {"text": "so?"})), FLASH37),
    "G13-before": Miss("G13", talk([call()], user({"text": "so?"}, result())), FLASH37, "vertex"),
    "G13-25": Miss("G13", talk([call()], user(result(), {"text": "so?"})), FLASH25, "vertex"),
    "G14-one": Miss("G14", talk([call()], user(result(), IMAGE)), FLASH25),
    "G14-3": Miss("G14", talk([call(), call("g")], user(result(), IMAGE, result("g"))), FLASH3),
    "G15-31": Miss("G15", said(GO, HELLO), "gemini-3.1-flash-lite"),
    "G15-result": Miss("G15", said(GO, model(call(), result())), FLASH36),
    "G15-no-model": Miss("G15", said(GO, HELLO), ANY),
    "G16": Miss("G16", talk([call()], user(result())), ANY),
    "G17-before": Miss("G17", talk([call()], user(result("g"))), FLASH3),
    "G17-by-id": Miss(
        "G17",
        talk([call(id="1"), call("g", id="2")], user(result("g", id="2"), result(id="1"))),
        FLASH35,
    ),
    "G18-none": Miss("G18", talk([call()], user(result())), FLASH35),
    "G18-before": Miss("G18", talk([call(id="1")], user(result())), FLASH3),
    "G18b-ids": Miss(
        "G18b",
        talk([call(id="1"), call("g", id="2")], user(result("g", id="2"), result(id="1"))),
        FLASH3,
    ),
    "G19-35": Miss("G19", talk([call(id="1")], user(result(id="1"))), FLASH35),
    "G20-absent": Miss("G20", talk([call()], user({"functionResponse": {"name": "f"}})), FLASH35),
    "G21-25": Miss("G21", talk([call()], user(result(response={"$ref": "x"}))), FLASH25),
    "G21-named": Miss(
        "G21",
        talk(
            [call()],
            user(
                result(
                    response={"a": {"$ref": "p.png"}},
                    parts=[
                        {
                            "inlineData": {
                                "mimeType": "image/png",
                                "data": PNG,
                                "displayName": "p.png",
                            }
                        }
                    ],
                )
            ),
        ),
        FLASH3,
        "vertex",
    ),
    "G22-3": Miss("G22", talk([call()], user(result(parts=[IMAGE]))), FLASH3),
    "G24-25": Miss("G24", talk([call(signature=None)], user(result())), FLASH25),
    "G24-earlier": Miss("G24", talk([call(signature=None)], user(result()), HELLO, GO), FLASH3),
    "G24-parallel": Miss(
        "G24", talk([call(), call("g", None)], user(result(), result("g"))), FLASH3
    ),
    "G24-merged": Miss(
        "G24", said(GO, model(call()), model(call("g", None)), user(result(), result("g"))), FLASH3
    ),
    "G24-image": Miss(
        "G24", talk([call(signature=None)], user(result())), "gemini-3-pro-image-preview"
    ),
    "G24-tool-signed": Miss(
        "G24",
        said(GO, model({"toolCall": {"toolType": "URL_CONTEXT"}, "thoughtSignature": SIGNED}), GO),
        FLASH3,
    ),
    "G25-dummy": Miss("G25", talk([call(signature=DUMMY)], user(result())), FLASH3),
    "G25-literal": Miss(
        "G25", talk([call(signature="skip_thought_signature_validator")], user(result())), FLASH3
    ),
    "G25-other-literal": Miss(
        "G25",
        talk([call(signature="context_engineering_is_the_way_to_go")], user(result())),
        FLASH3,
    ),
    "G25-url-safe": Miss(
        "G25",
        talk([call(signature="AY89a19Otdr37hcYt_uTONS2bytGlqxMLCYg_5Vj")], user(result())),
        FLASH3,
    ),
    "G25-of-a-tool": Miss(
        "G25", talk([call(signature="EnUKcwgBEm8BDDnWxwF9UJTXuTQaEtOu")], user(result())), FLASH3
    ),
    "G25-25": Miss(
        "G25", talk([call(signature="RXJRQ0NrZ0lCeEFCR0FJaVFBPT0=")], user(result())), FLASH25
    ),
    "G27-none": Miss(
        "G27", said(GO, model(call(signature=None)), user(result()), HELLO, GO), FLASH36
    ),
    "G27-3": Miss(
        "G27",
        said(
            GO, model(call()), user(result()), GO, model(call(signature=None)), user(result()), GO
        ),
        FLASH3,
    ),
    "G28": Miss("G28", said(tools=tools(function(name="_a.b-c"))), ANY),
    "G29": Miss("G29", said(tools=tools(function(), function(name="F"))), ANY),
    "G30": Miss("G30", said(tools=tools(*(function(name=f"f{i}") for i in range(512)))), FLASH25),
    "G31-flag": Miss(
        "G31",
        said(
            tools=[{"googleSearch": {}}],
            toolConfig={
                "functionCallingConfig": {"mode": "AUTO"},
                "includeServerSideToolInvocations": True,
            },
        ),
        FLASH3,
    ),
    "G31-retrieval": Miss(
        "G31", said(toolConfig={"retrievalConfig": {"languageCode": "en"}}), FLASH3
    ),
    "G32-flag": Miss(
        "G32",
        said(
            tools=tools(function(), googleSearch={}),
            toolConfig={"includeServerSideToolInvocations": True},
        ),
        FLASH3,
    ),
    "G32-vertex": Miss("G32", said(tools=tools(function(), googleSearch={})), FLASH3, "vertex"),
    "G33-mcp": Miss(
        "G33", talk([call()], user(result()), tools=[{"mcpServers": [{"name": "m"}]}]), FLASH25
    ),
    "G33-3": Miss("G33", talk([call()], user(result()), tools=[{"googleSearch": {}}]), FLASH3),
    "G34-3": Miss("G34", said(toolConfig={"includeServerSideToolInvocations": True}), FLASH3),
    "G35-any": Miss(
        "G35",
        said(
            tools=tools(function()),
            toolConfig={"functionCallingConfig": {"mode": "any", "allowedFunctionNames": ["f"]}},
        ),
        FLASH25,
    ),
    "G35-validated": Miss(
        "G35",
        said(
            tools=tools(function()),
            toolConfig={"functionCallingConfig": {"mode": 4, "allowedFunctionNames": ["f"]}},
        ),
        FLASH25,
    ),
    "G36-gemini": Miss("G36", said(systemInstruction={"parts": [{"text": "a"}]}), FLASH25),
    "G36-newer": Miss("G36", said(systemInstruction={"parts": [{"text": "a"}]}), "gemma-4-31b-it"),
    "G37": Miss(
        "G37",
        said(
            tools=tools(
                function(
                    {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
                    responseJsonSchema={},
                )
            )
        ),
        FLASH25,
    ),
    "G38-name": Miss(
        "G38",
        root(
            {
                "type": "object",
                "properties": {"const": {"type": "string"}, "$ref": {"type": "string"}},
                "required": ["$ref"],
            }
        ),
        FLASH25,
    ),
    "G38-data": Miss(
        "G38",
        schema(
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "default": {"const": 1},
                "example": {"$ref": 1},
            }
        ),
        FLASH25,
    ),
    "G38-vertex": Miss(
        "G38",
        schema(
            {
                "type": "OBJECT",
                "additionalProperties": False,
                "properties": {"a": {"type": "STRING"}},
            }
        ),
        FLASH25,
        "vertex",
    ),
    "G38-json-schema": Miss("G38", json_schema(additionalProperties=False), FLASH25),
    "G39-json-schema": Miss("G39", json_schema(properties={"a": NO_TYPE_LIST}), FLASH25),
    "G40-integer": Miss("G40", schema({"type": 1}), FLASH25),
    "G41-string": Miss("G41", schema({"type": "string", "enum": ["a"]}), FLASH25),
    "G43-date": Miss("G43", schema({"type": "STRING", "format": "date-time"}), FLASH25),
    "G43-number": Miss("G43", schema({"type": "INTEGER", "format": "int64"}), FLASH25),
    "G44-none": Miss("G44", schema({"type": "OBJECT"}), FLASH25),
    "G45-empty": Miss("G45", schema({"type": "ARRAY", "items": {}}), FLASH25),
    "G46": Miss(
        "G46",
        root(
            {"type": "OBJECT", "properties": {"format": {"type": "STRING"}}, "required": ["format"]}
        ),
        FLASH25,
    ),
    "G47": Miss("G47", schema({"type": "ARRAY", "items": {"type": "STRING"}}), FLASH25),
    "G48-items": Miss("G48", schema({"type": "ARRAY", "items": {}}), FLASH25),
    "G48-union": Miss(
        "G48", schema({"anyOf": [{"type": "STRING"}, {"type": "NULL"}]}), FLASH25, "vertex"
    ),
    "G49-alone": Miss("G49", schema({"anyOf": [{"type": "STRING"}]}), FLASH25, "vertex"),
    "G49-gemini": Miss("G49", schema({"anyOf": [{"type": "STRING"}], "description": "d"}), FLASH25),
    "G50-gemini": Miss("G50", root({"type": "STRING"}), FLASH25),
    "G50-answer": Miss("G50", config(responseSchema={"type": "STRING"}), FLASH25, "vertex"),
    "G51-root": Miss("G51", said(tools=tools(function(parametersJsonSchema=AT_THE_ROOT))), FLASH25),
    "G51-allowed": Miss(
        "G51",
        json_schema(
            properties={"a": {"$ref": "#/$defs/A", "description": "d", "default": 1}},
            **{"$defs": {"A": {}}},
        ),
        FLASH25,
    ),
    "G51-recursive": Miss("G51", json_schema(properties={"a": {"$ref": "#"}}), FLASH25),
    "G51-anchor": Miss(
        "G51",
        json_schema(properties={"a": {"$ref": "#A"}}, **{"$defs": {"x": {"$anchor": "A"}}}),
        FLASH25,
    ),
    "G51-a-name": Miss(
        "G51",
        json_schema(properties={"$ref": {"type": "string"}}, default={"$ref": "#/x"}),
        FLASH25,
    ),
    "G52": Miss("G52", root(nested(16)), FLASH25),
    "G52-refs": Miss(
        "G52",
        json_schema(properties={"a": {"$ref": "#/$defs/A"}}, **{"$defs": {"A": nested(15)}}),
        FLASH25,
    ),
    "G53": Miss("G53", config(responseSchema=BIG_ENUM), FLASH25),
    "G54": Miss(
        "G54",
        config(responseSchema={"type": "ARRAY", "items": {"type": "STRING"}, "maxItems": 960}),
        FLASH25,
    ),
    "G56-3": Miss(
        "G56",
        said(tools=tools(function()), generationConfig={"responseMimeType": "application/json"}),
        FLASH3,
    ),
    "G56-text": Miss(
        "G56",
        said(tools=tools(function()), generationConfig={"responseMimeType": "text/plain"}),
        FLASH25,
    ),
    "G57-edge": Miss("G57", thinking(thinkingBudget=24576), FLASH25),
    "G57-dynamic": Miss("G57", thinking(thinkingBudget=-1), PRO25),
    "G57-off": Miss("G57", thinking(thinkingBudget=0), LITE25),
    "G57-3": Miss("G57", thinking(thinkingBudget=0), FLASH35),
    "G57-pro-vertex": Miss("G57", thinking(thinkingBudget=0), PRO31, "vertex"),
    "G59-xhigh": Miss("G59", thinking(thinkingLevel="XHIGH"), "gemini-4-hydrogen"),
    "G87": Miss("G87", config(temperature=0.5), FLASH35),
    "G89": Miss("G89", config(maxOutputTokens=65536), FLASH35),
    "G89-4": Miss("G89", config(maxOutputTokens=10**6), "gemini-4-argon"),
    "G90": Miss("G90", said(user(SOUND)), FLASH35),
    "G88": Miss("G88", said(cachedContent="cachedContents/a"), FLASH35),
    "G58": Miss("G58", thinking(thinkingBudget=0, includeThoughts=True), FLASH25),
    "G59-3": Miss("G59", thinking(thinkingLevel="minimal"), FLASH36),
    "G60-25": Miss("G60", config(candidateCount=2), FLASH25),
    "G60-one": Miss("G60", config(candidateCount=1), FLASH3),
    "G61-vertex": Miss("G61", config(presencePenalty=0.5), PRO25, "vertex"),
    "G61-2": Miss("G61", config(presencePenalty=0.5), FLASH2),
    "G62": Miss("G62", said(cachedContent="cachedContents/a", generationConfig={}), FLASH25),
    "G64-x-wav": Miss(
        "G64", said(user({"inlineData": {"mimeType": "audio/x-wav", "data": "AAAA"}})), FLASH25
    ),
    "G64-parameter": Miss(
        "G64",
        said(user({"inlineData": {"mimeType": "audio/pcm;rate=16000", "data": "AAAA"}})),
        FLASH25,
    ),
    "G65-url-safe": Miss(
        "G65", said(user({"inlineData": {"mimeType": "audio/wav", "data": "-_-_AA"}})), FLASH25
    ),
    "G66-jpeg": Miss(
        "G66", said(user({"inlineData": {"mimeType": "image/jpeg", "data": "_9j_4AAQ"}})), FLASH25
    ),
    "G71": Miss("G71", {"requests": [{}] * 100}, ANY, endpoint="batchEmbedContents"),
    "G78-gemini": Miss("G78", said(user({"text": ""})), FLASH37),
    "G78-of-the-model": Miss("G78", said(GO, model({"text": ""}), GO), FLASH37, "vertex"),
    "G15-2": Miss("G15", said(GO, HELLO), FLASH2),
    "G57-1": Miss("G57", thinking(thinkingBudget=1), FLASH25),
    "G78-more": Miss("G78", said(user({"text": ""}, {"text": "a"})), FLASH37, "vertex"),
    "G79-vertex": Miss("G79", config(responseLogprobs=True), "gemini-flash-latest", "vertex"),
    "G79-other": Miss("G79", config(responseLogprobs=True), FLASH25),
    "G80-vertex": Miss(
        "G80", config(logprobs=2), FLASH25, "vertex", endpoint="streamGenerateContent"
    ),
    "G81": Miss("G81", said(), "tunedModels/my-model.1"),
    "G82-gemini": Miss("G82", config(temperature=3), FLASH25),
    "G82-edge": Miss("G82", config(temperature=2), FLASH25, "vertex"),
}
