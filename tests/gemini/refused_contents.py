"""Bodies that the parser refuses, and whose conversation is refused (G1 to G27)."""

from __future__ import annotations

from .bodies import (
    ANY,
    COUNT,
    ENDS,
    FLASH2,
    FLASH3,
    FLASH25,
    FLASH35,
    FLASH36,
    FLASH37,
    GO,
    HELLO,
    IMAGE,
    INVALID,
    NO_TYPE_LIST,
    ONE,
    PRO25,
    PRO31,
    Hit,
    P,
    call,
    config,
    model,
    result,
    said,
    schema,
    talk,
    user,
)

HITS: dict[str, Hit] = {
    # the parser
    "G1-top": Hit("G1", said(moood=1), ANY, "moood", 'Unknown name "moood": Cannot find field.'),
    "G1-deep": Hit("G1", said(user({"text": "a", "role": "user"})), FLASH25, "contents[0].parts[0].role", "at 'contents[0].parts[0]'"),
    "G1-bare": Hit("G1", {"contents": {"parts": {"text": "a", "x": 1}}}, FLASH25, "contents.parts.x", "at 'contents.parts'"),
    "G1-vertex-field": Hit("G1", said(labels={"a": "b"}), FLASH25, "labels", 'Unknown name "labels"'),
    "G1-display-name": Hit(
        "G1",
        said(user({"fileData": {"fileUri": "u", "displayName": "d"}})),
        FLASH25,
        "contents[0].parts[0].fileData.displayName",
        "Cannot find",
    ),
    "G1-gemini-field": Hit(
        "G1",
        said(toolConfig={"includeServerSideToolInvocations": True}),
        FLASH3,
        "toolConfig.includeServerSideToolInvocations",
        "at 'tool_config'",
        "vertex",
    ),
    "G1-uncertain": Hit(
        "G1", said(user({"text": "a", "speechMetadata": {}})), FLASH25, "contents[0].parts[0].speechMetadata", "", severity="warning"
    ),
    "G1-no-message": Hit("G1", said(systemInstruction="Be kind"), ANY, "systemInstruction", 'v1beta.Content), "Be kind"'),
    "G1-number": Hit("G1", config(maxOutputTokens="many"), ANY, "generationConfig.maxOutputTokens", '(TYPE_INT32), "many"'),
    "G1-list": Hit("G1", config(temperature=[1]), ANY, "generationConfig.temperature", "Proto field is not repeating"),
    "G1-object": Hit(
        "G1", said(user({"text": {"a": 1}})), ANY, "contents[0].parts[0].text", "(TYPE_STRING), Starting an object on a scalar field"
    ),
    "G2-system": Hit(
        "G2",
        said(systemInstruction={"parts": [{"text": "a"}]}),
        FLASH25,
        "systemInstruction",
        'name "systemInstruction": Cannot',
        severity="warning",
        version="v1",
    ),
    "G2-thought": Hit(
        "G2",
        said(GO, model({"text": "a", "thought": True}), GO),
        FLASH25,
        "contents[1].parts[0].thought",
        'Unknown name "thought"',
        severity="warning",
        version="v1",
    ),
    "G3-spellings": Hit(
        "G3", said(toolConfig={}, tool_config={}), ANY, "tool_config", "oneof field '_tool_config' is already set. Cannot set 'tool_config'"
    ),
    "G3-data": Hit(
        "G3",
        said(user({"text": "a", "fileData": {"fileUri": "u"}})),
        ANY,
        "contents[0].parts[0].fileData",
        "'contents[0].parts[0]' (oneof), oneof field 'data' is already set",
    ),
    "G20-text": Hit(
        "G20",
        talk([call()], user(result(response="sunny"))),
        ANY,
        f"{ONE}.response",
        '(type.googleapis.com/google.protobuf.Struct), "sunny"',
    ),
    "G20-list": Hit(
        "G20",
        talk([call()], user(result(response=[1]))),
        FLASH3,
        f"{ONE}.response",
        "Invalid value at 'contents[2].parts[0].function_response.response'",
    ),
    "G25-base64": Hit(
        "G25", talk([call(signature="%%%")], user(result())), ANY, "contents[1].parts[0].thoughtSignature", 'decoding failed for "%%%"'
    ),
    "G38": Hit(
        "G38",
        schema({"type": "STRING", "const": "a"}),
        ANY,
        f"{P}.const",
        "at 'tools[0].function_declarations[0].parameters.properties[0].value'",
    ),
    "G38-ref": Hit("G38", schema({"type": "OBJECT", "$ref": "#/x"}), FLASH25, f"{P}.$ref", 'Unknown name "$ref"', "vertex"),
    "G38-answer": Hit(
        "G38",
        config(responseSchema={"type": "OBJECT", "additionalProperties": False}),
        FLASH25,
        "generationConfig.responseSchema.additionalProperties",
        "at 'generation_config.response_schema'",
    ),
    "G39": Hit("G39", schema(NO_TYPE_LIST), ANY, f"{P}.type", "Proto field is not repeating, cannot start list."),
    "G40": Hit("G40", schema({"type": "any"}), ANY, f"{P}.type", '(type.googleapis.com/google.ai.generativelanguage.v1beta.Type), "any"'),
    "G40-vertex": Hit(
        "G40", schema({"type": ""}), FLASH25, f"{P}.type", '(type.googleapis.com/google.cloud.aiplatform.v1beta1.Type), ""', "vertex"
    ),
    "G41-member": Hit("G41", schema({"type": "STRING", "enum": ["a", 0]}), ANY, f"{P}.enum[1]", ".value.enum[1]' (TYPE_STRING), 0"),
    "G65": Hit(
        "G65",
        said(user({"inlineData": {"mimeType": "image/png", "data": "data:image/png;base64,AAAA"}})),
        ANY,
        "contents[0].parts[0].inlineData.data",
        '(TYPE_BYTES), Base64 decoding failed for "data:image/png;base64"',
    ),
    # the shape
    "G4": Hit("G4", {"contents": []}, ANY, "contents", "* GenerateContentRequest.contents: contents is not specified\n"),
    "G5": Hit(
        "G5", said(GO, model()), ANY, "contents[1].parts", "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.\n"
    ),
    "G5-vertex": Hit(
        "G5",
        said(model(), GO),
        FLASH25,
        "contents[0].parts",
        "Unable to submit request because it must include at least one parts field",
        "vertex",
    ),
    "G6": Hit(
        "G6",
        said(user({"thought": True})),
        ANY,
        "contents[0].parts[0].data",
        "* GenerateContentRequest.contents[0].parts[0].data: required oneof",
    ),
    "G7": Hit(
        "G7",
        said(systemInstruction={"parts": [{}]}),
        ANY,
        "systemInstruction.parts[0].data",
        "GenerateContentRequest.system_instruction.parts[0].data",
    ),
    "G8": Hit(
        "G8",
        said({"role": "assistant", "parts": [{"text": "a"}]}, GO),
        FLASH35,
        "contents[0].role",
        "Please use a valid role: user, model.",
    ),
    "G8-any": Hit(
        "G8", said({"role": "tool", "parts": [{"text": "a"}]}, GO), ANY, "contents[0].role", "Please use a valid role: user, model."
    ),
    "G9": Hit(
        "G9", said({"role": "function", "parts": [{"text": "a"}]}, GO), FLASH36, "contents[0].role", "Role 'function' is not supported."
    ),
    "G71": Hit(
        "G71", {"requests": [{}] * 101}, ANY, "requests", "at most 100 requests can be in one batch\n", endpoint="batchEmbedContents"
    ),
    "G78": Hit("G78", said(GO, HELLO, user({"text": ""})), FLASH37, "contents[2]", "Model input cannot be empty.", "vertex"),
    "G81": Hit("G81", said(), "bad model", "model", "* GenerateContentRequest.model: unexpected model name format\n"),
    # the order
    "G10": Hit("G10", said(model(call()), user(result())), ANY, "contents[0]", "Please ensure that function call turn comes immediately"),
    "G11-later": Hit(
        "G11", talk([call()], GO, user(result())), ANY, "contents[3]", "Please ensure that function response turn comes immediately"
    ),
    "G11-orphan": Hit("G11", said(GO, user(result())), FLASH25, "contents[1]", "Please ensure that function response turn"),
    "G11-twice": Hit(
        "G11", talk([call()], user(result()), user(result())), FLASH3, "contents[3]", "Please ensure that function response turn"
    ),
    "G12-missing": Hit("G12", talk([call(), call("g")], user(result())), ANY, "contents[2]", COUNT),
    "G12-surplus": Hit("G12", talk([call()], user(result(), result())), ANY, "contents[2]", COUNT),
    "G12-split": Hit("G12", talk([call(), call("g")], user(result()), user(result("g"))), FLASH3, "contents[2]", COUNT),
    "G12-split-vertex": Hit("G12", talk([call(), call("g")], user(result()), user(result("g"))), FLASH25, "contents[2]", COUNT, "vertex"),
    "G12-split-dated": Hit(
        "G12", talk([call(), call("g")], user(result()), user(result("g"))), FLASH25, "contents[2]", COUNT, severity="warning"
    ),
    "G12-unanswered": Hit("G12", talk([call()], GO), FLASH25, "contents[1]", COUNT),
    "G12-unanswered-dated": Hit("G12", talk([call()], GO), FLASH2, "contents[1]", COUNT, "vertex", "warning"),
    "G12-unanswered-at-the-end": Hit("G12", talk([call()]), FLASH35, "contents[1]", COUNT),
    "G12-merged": Hit("G12", said(GO, model(call()), model(call("g")), user(result())), FLASH3, "contents[3]", COUNT),
    "G13": Hit("G13", talk([call()], user(result(), {"text": "so?"})), FLASH36, "contents[2].parts[1]", ENDS, "vertex"),
    "G13-early": Hit("G13", talk([call()], user(result(), IMAGE)), FLASH3, "contents[2].parts[1]", ENDS, "vertex", "warning"),
    "G14": Hit(
        "G14", talk([call(), call("g")], user(result(), IMAGE, result("g"))), PRO25, "contents[2].parts[1]", COUNT, severity="warning"
    ),
    "G15": Hit("G15", said(GO, HELLO), FLASH36, "contents[1]", ENDS),
    "G15-lite": Hit("G15", said(HELLO), "gemini-3.5-flash-lite", "contents[0]", ENDS, "vertex"),
    "G15-call": Hit("G15", talk([call()]), FLASH37, "contents[1]", ENDS),
    "G15-old": Hit(
        "G15",
        said(GO, HELLO),
        "gemini-1.5-pro",
        "contents[1]",
        "Please ensure that multiturn requests ends with a user role",
        severity="warning",
    ),
    "G16": Hit(
        "G16", talk([call()], user(result(""))), ANY, f"{ONE}.name", "contents[2].parts[0].function_response.name: Name cannot be empty.\n"
    ),
    "G17": Hit("G17", talk([call(id="1")], user(result("g", id="1"))), FLASH35, f"{ONE}.name", INVALID),
    "G18": Hit("G18", talk([call(id="1")], user(result())), FLASH35, f"{ONE}.id", INVALID),
    "G18b": Hit("G18b", talk([call(), call("g")], user(result("g"), result())), FLASH3, "contents[2]", INVALID, severity="warning"),
    "G19": Hit(
        "G19",
        talk([call(id="1")], user(result(id="1"))),
        FLASH25,
        f"{ONE}.id",
        "Unknown name \"id\" at 'contents[2].parts[0].function_response': Cannot",
        severity="warning",
    ),
    "G21": Hit(
        "G21",
        talk([call()], user(result(response={"a": [{"$ref": "#/x"}]}))),
        FLASH3,
        f"{ONE}.response.a[0].$ref",
        "The referenced name `#/x` in",
    ),
    "G22": Hit(
        "G22",
        talk([call()], user(result(parts=[IMAGE]))),
        FLASH25,
        f"{ONE}.parts",
        "`function_response.parts` is not supported for this model.",
    ),
    # signatures
    "G24": Hit(
        "G24",
        talk([call(signature=None)], user(result())),
        FLASH3,
        "contents[1].parts[0]",
        "function call `default_api:f` , position 2. Please",
    ),
    "G24-vertex": Hit(
        "G24",
        talk([call(signature=None)], user(result())),
        PRO31,
        "contents[1].parts[0]",
        "function call `f` in the 2. content block",
        "vertex",
    ),
    "G24-step": Hit(
        "G24",
        talk([call()], user(result()), model(call("g", None)), user(result("g"))),
        FLASH36,
        "contents[3].parts[0]",
        "default_api:g` , position 4",
    ),
    "G24-second-only": Hit(
        "G24", talk([call(signature=None), call("g")], user(result(), result("g"))), FLASH3, "contents[1].parts[0]", "default_api:f"
    ),
    "G24-tool": Hit(
        "G24",
        talk([{"toolCall": {"toolType": "URL_CONTEXT"}}, call()], user(result())),
        FLASH3,
        "contents[1].parts[0]",
        "contents[1].parts[0]: Tool call part is missing",
    ),
    "G24-tool-of-earlier": Hit(
        "G24",
        said(GO, model({"toolResponse": {"toolType": "URL_CONTEXT"}}), GO),
        FLASH3,
        "contents[1].parts[0]",
        "Tool call part is missing",
        severity="warning",
    ),
    "G25": Hit(
        "G25",
        talk([call(signature="RXJRQ0NrZ0lCeEFCR0FJaVFBPT0=")], user(result())),
        FLASH3,
        "contents[1].parts[0].thoughtSignature",
        "Corrupted thought signature.",
    ),
    "G25-vertex": Hit(
        "G25",
        talk([call(signature="ErQCCkgIBxABGAIiQA==")], user(result())),
        FLASH3,
        "contents[1].parts[0].thoughtSignature",
        "Thought signature is not valid..",
        "vertex",
    ),
    "G25-fernet": Hit(
        "G25", talk([call(signature="gAAAAABoQUJD")], user(result())), FLASH36, "contents[1].parts[0].thoughtSignature", "Corrupted"
    ),
    "G27": Hit(
        "G27",
        said(GO, model(call()), user(result()), HELLO, GO, model(call(signature=None)), user(result()), HELLO, GO),
        FLASH36,
        "contents[5].parts[0]",
        INVALID,
        severity="warning",
    ),
}
