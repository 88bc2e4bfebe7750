"""The server's error text and the remedy for each rule, and the rules that depend on the server's
state.

A rule fills in the names in braces. `vertex` is the text of Vertex where it is known to differ.
A rule with several error texts has one row for each; the key is the id and a name, such as
`G1 list`.
"""

from __future__ import annotations

import msgspec

INVALID = "Request contains an invalid argument."
_COUNT = (
    "Please ensure that the number of function response parts is equal to the number of "
    "function call parts of the function call turn."
)
_ENDS = "Requests ending with a model turn are not supported."
_NO_FIELD = 'Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.'
_NO_LIST = (
    'Invalid JSON payload received. Unknown name "{name}"{at}: Proto field is not repeating, '
    "cannot start list."
)
_NO_VALUE = "Invalid value at {at} ({kind}), {value}"
_NO_BASE64 = 'Invalid value at {at} (TYPE_BYTES), Base64 decoding failed for "{value}"'
_NO_DATA = (
    "* GenerateContentRequest.{at}: required oneof field 'data' must have one initialized field\n"
)


class Words(msgspec.Struct, frozen=True):
    """How the server refuses a violation: its error text, the remedy for the caller, HTTP status
    and its name.
    """

    text: str
    remedy: str
    vertex: str = ""
    status: int = 400
    code: str = "INVALID_ARGUMENT"


WORDS: dict[str, Words] = {
    # the parser
    "G1": Words(_NO_FIELD, "remove the key"),
    "G1 list": Words(_NO_LIST, "give one value, not a list"),
    "G1 value": Words(_NO_VALUE, "give the value the type of its field"),
    "G2": Words(_NO_FIELD, "call v1beta"),
    "G3": Words(
        "Invalid value at {at} (oneof), oneof field '{oneof}' is already set. Cannot set '{name}'",
        "set only one of the two",
    ),
    "G19": Words(_NO_FIELD, "send an id only if the call had one"),
    "G20": Words(_NO_VALUE, "wrap the result in an object, as gemini.function_response(...) does"),
    "G25 base64": Words(_NO_BASE64, "send the signature back unchanged"),
    "G38": Words(_NO_FIELD, "remove it, as gemini.schema(...) does, or use the JSON Schema field"),
    "G39": Words(_NO_LIST, "give one type, with nullable or anyOf, as gemini.schema(...) does"),
    "G40": Words(_NO_VALUE, "use one of string, number, integer, boolean, array, object, null"),
    "G41 member": Words(_NO_VALUE, "write enum members as strings, as gemini.schema(...) does"),
    "G65": Words(_NO_BASE64, "send base64 without a data: prefix or other text"),
    # the shape of the body
    "G4": Words(
        "* GenerateContentRequest.contents: contents is not specified\n",
        "add a user turn",
    ),
    "G5": Words(
        "* GenerateContentRequest.{at}: contents.parts must not be empty.\n",
        "remove the turn, or give it a part",
        "Unable to submit request because it must include at least one parts field, "
        "which describes the prompt input.",
    ),
    "G6": Words(_NO_DATA, "remove the part, or give it a text"),
    "G7": Words(_NO_DATA, "remove the part, or give it a text"),
    "G8": Words(
        "Please use a valid role: user, model.",
        "put system text into systemInstruction, and results into a user turn",
    ),
    "G9": Words(
        "Role '{role}' is not supported. Please use a valid role: "
        "SYSTEM, SYSTEM_1, USER, ASSISTANT, DEVELOPER, CONTEXT, USER_CONTEXT, MODEL, USER.",
        "put results into a Content of role user",
    ),
    "G71": Words(
        "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n",
        "send at most 100 at a time",
    ),
    "G81": Words(
        "* GenerateContentRequest.model: unexpected model name format\n",
        "use letters, digits, dots, dashes and underscores",
    ),
    # the order of turns, and results
    "G10": Words(
        "Please ensure that function call turn comes immediately after a user turn or "
        "after a function response turn.",
        "begin with a user turn; gemini.contents(...) orders turns",
    ),
    "G11": Words(
        "Please ensure that function response turn comes immediately after a function call turn.",
        "put the results directly after their calls, as gemini.contents(...) does",
    ),
    "G12": Words(
        _COUNT, "answer all calls of a turn in the next Content, as gemini.contents(...) does"
    ),
    "G13": Words(_ENDS, "put the parts after the results into a separate user Content"),
    "G14": Words(_COUNT, "put the media into a separate user Content"),
    "G15": Words(_ENDS, "end with a user turn"),
    "G15 old": Words(
        "Please ensure that multiturn requests ends with a user role or a function response.",
        "end with a user turn",
    ),
    "G16": Words(
        "* GenerateContentRequest.{at}: Name cannot be empty.\n",
        "name the function that was called",
    ),
    "G17": Words(INVALID, "name the result after its call"),
    "G18": Words(INVALID, "repeat the id of the call in its result"),
    "G18b": Words(INVALID, "put the results into the order of their calls"),
    "G21": Words(
        "The referenced name `{name}` in function_response.response does not match to a "
        "display_name in the function_response.parts.",
        "send the result as text, as gemini.function_response(...) does",
    ),
    "G22": Words(
        "Unable to submit request because `function_response.parts` is not supported for "
        "this model.",
        "put the media into a user Content after the results",
    ),
    # signatures
    "G24": Words(
        "Function call is missing a thought_signature in functionCall parts. This is "
        "required for tools to work correctly, and missing "
        "thought_signature may lead to degraded model performance. Additional data, "
        "function call `default_api:{name}` , position "
        "{position}. Please refer to "
        "https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
        "send the part back unchanged; sign a call of another model with gemini.PLACEHOLDER",
        "Unable to submit request because function call `{name}` in the {position}. "
        "content block is missing a `thought_signature`.",
    ),
    "G24 tool": Words(
        "{at}: Tool call part is missing thought_signature", "send the part back unchanged"
    ),
    "G25": Words(
        "Corrupted thought signature.",
        "send a signature only to the model family that made it; sign a call of another model "
        "with gemini.PLACEHOLDER",
        "Unable to submit request because Thought signature is not valid..",
    ),
    "G27": Words(INVALID, "send the signatures of all earlier turns, or remove those turns"),
    # tools
    "G28": Words(
        "* GenerateContentRequest.{at}: Invalid function name. Must start with a letter "
        "or an underscore. Must be alphameric "
        "(a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.\n",
        "use a letter or underscore, then letters, digits, underscores or dashes, 64 in all",
    ),
    "G29": Words(
        "Duplicate function declaration found: {name}", "declare each name once, over all tools"
    ),
    "G30": Words(
        "The GenerateContentRequest proto is invalid:\n  * {at}: [FIELD_INVALID] At most "
        "512 function declarations can be specified.",
        "declare fewer functions",
    ),
    "G31": Words(
        "Function calling config is set without function_declarations.",
        "remove functionCallingConfig, or declare functions",
    ),
    "G32": Words(
        "Please enable tool_config.include_server_side_tool_invocations to use Built-in "
        "tools with Function calling.",
        "set toolConfig.includeServerSideToolInvocations",
    ),
    "G33": Words(
        "Tool use with function calling is unsupported", "use built-in tools or functions, not both"
    ),
    "G34": Words(
        "Tool call context circulation is not enabled for {model}",
        "remove includeServerSideToolInvocations",
    ),
    "G35": Words(INVALID, "use mode ANY or VALIDATED, or remove allowedFunctionNames"),
    "G36": Words("{feature} is not enabled for {model}", "use a model that supports it"),
    "G37": Words(INVALID, "set only one of the two"),
    # schemas
    "G41": Words(
        "* GenerateContentRequest.{at}: only allowed for STRING type\n",
        "make it a STRING or remove the enum, as gemini.schema(...) does",
    ),
    "G42": Words(
        "* GenerateContentRequest.{at}: cannot be empty\n",
        "remove the empty string, as gemini.schema(...) does",
    ),
    "G43": Words(
        "* GenerateContentRequest.{at}: only 'enum' and 'date-time' are supported for "
        "STRING type\n",
        "move the format into the description",
    ),
    "G44": Words(
        "* GenerateContentRequest.{at}: should be non-empty for OBJECT type\n",
        "remove the schema if there are no parameters",
    ),
    "G45": Words(
        "* GenerateContentRequest.{at}: missing field.\n", "give the array a schema in items"
    ),
    "G46": Words(
        "* GenerateContentRequest.{at}: property is not defined\n",
        "list only names that properties has",
    ),
    "G46 type": Words(
        "* GenerateContentRequest.{at}: only allowed for OBJECT type\n",
        "use required on nodes of type OBJECT only",
    ),
    "G47": Words(
        "* GenerateContentRequest.{at}: only allowed for {type} type\n",
        "use properties on OBJECT and items on ARRAY only",
    ),
    "G48": Words(
        "* GenerateContentRequest.{at}: must be specified when not using one_of, any_of "
        "or all_of fields\n",
        "give every node one type, or use the JSON Schema field",
        "Unable to submit request because {owner} schema didn't specify the schema type field.",
    ),
    "G49": Words(
        "Unable to submit request because {owner} schema specified other fields alongside any_of. "
        "When using any_of, it must be the only field set.",
        "move the keywords beside anyOf into its members, as gemini.schema(...) does",
    ),
    "G50": Words(
        "Unable to submit request because `{name}` functionDeclaration parameters schema "
        "should be of type OBJECT.",
        "wrap the parameter in an object",
    ),
    "G51": Words("reference to undefined schema at {node}", "define it under $defs, or inline it"),
    "G51 beside": Words(
        "$ref '{name}' was set alongside unsupported fields",
        "use only description and default beside $ref",
    ),
    "G52": Words(
        "A FunctionDeclaration in the request exceeds the maximum allowed nesting depth.",
        "flatten it, or use $ref in the JSON Schema field",
    ),
    "G52 response": Words(
        "A schema in GenerationConfig in the request exceeds the maximum allowed nesting depth.",
        "flatten it, or use $ref in responseJsonSchema",
    ),
    "G53": Words(
        "The specified schema produces a constraint that has too many states for "
        "serving.  Typical causes…",
        "shorten enums, remove bounds of arrays, flatten nested arrays",
    ),
    "G54": Words(INVALID, "lower or remove maxItems"),
    # generation and cache
    "G56": Words(
        "Function calling with a response mime type: 'application/json' is unsupported",
        "request JSON without tools",
    ),
    "G56 tool": Words(
        "Tool use with a response mime type: 'application/json' is unsupported",
        "request JSON without tools",
    ),
    "G57": Words(
        "The thinking budget ({budget}) is invalid.",
        "use a budget in the model's range: wire.gemini.families.BUDGETS",
    ),
    "G57 off": Words(
        "Budget 0 is invalid. This model only works in thinking mode.",
        "use the smallest budget, or -1",
        "Unable to submit request because The model does not support setting thinking_budget to 0",
    ),
    "G57 none": Words("thinking_budget is not supported by this model", "set thinking_level"),
    "G58": Words(
        "You can only set only one of thinking budget and thinking level.",
        "set thinking_level for Gemini 3, thinking_budget for 2.5",
    ),
    "G59": Words("thinking_level is not supported by this model", "set thinking_budget for 2.5"),
    "G59 level": Words("Thinking level {level} is not supported", "use LOW or a higher level"),
    "G89": Words(
        "Unable to submit request because it has a maxOutputTokens value of {tokens} but the "
        "supported range is from 1 (inclusive) to {end} (exclusive). Update the value and try "
        "again.",
        "ask for fewer tokens",
    ),
    "G87": Words("is ignored by this model", "remove it"),
    "G88": Words("Cached content is not supported by {model}", "send the contents themselves"),
    "G60": Words(
        "Multiple candidates is not enabled for this model",
        "request one candidate; send the request several times",
    ),
    "G61": Words("Penalty is not enabled for {model}", "remove the penalty"),
    "G62": Words(
        "CachedContent can not be used with GenerateContent request setting "
        "system_instruction, tools or tool_config.\n\n"
        "Proposed fix: move those values to CachedContent from GenerateContent request.",
        "move it into the cached content",
        "Tool config, tools and system instruction should not be set in the request when "
        "using cached content.",
    ),
    "G79": Words("Logprobs is not enabled for this model", "remove logprobs"),
    "G80": Words(
        "LogProbs is not supported in streaming mode", "send the request without streaming"
    ),
    "G82": Words(
        "Unable to submit request because it has a temperature value of {temperature} "
        "but the supported range is from 0 (inclusive) "
        "to 2.0001 (exclusive). Update the value and try again.",
        "use a temperature from 0 to 2",
    ),
    # media
    "G64": Words(
        "Unsupported MIME type: {mime}",
        "use a complete type that Gemini reads, such as image/png or image/jpeg",
    ),
    "G64 bare": Words(INVALID, "convert it to PNG or JPEG"),
    "G66": Words("Provided image is not valid", "send the bytes of the image"),
    "G78": Words(
        "Unable to submit request because Model input cannot be empty.",
        "give the turn a text, or remove it",
    ),
    # facts that only the server knows; STATE has the reasons
    "G23": Words(INVALID, "send server-side tool parts back unchanged"),
    "G63": Words(
        "Cached content is too small. total_token_count={count}, min_total_token_count={least}",
        "cache more, or send the content with the request",
    ),
    "G67": Words(
        "The File {name} is not in an ACTIVE state and usage is not allowed",
        "wait until the file is ACTIVE",
    ),
    "G68": Words(
        "You do not have permission to access the File {name} or it may not exist.",
        "upload it with this key; files live 48 hours",
        status=403,
        code="PERMISSION_DENIED",
    ),
    "G69": Words(
        "The input token count ({count}) exceeds the maximum number of tokens allowed ({most}).",
        "send less; count_tokens counts",
    ),
    "G70": Words("Request payload size exceeds the limit: {limit} bytes.", "upload media as files"),
    "G72": Words(
        "models/{model} is not found for API version {version}, or is not supported for {method}. "
        "Call ListModels to see the list of available models and their supported methods.",
        "list_models names those that exist",
        "Publisher Model `{model}` not found.",
        status=404,
        code="NOT_FOUND",
    ),
    "G86": Words(
        "models/{model} is not found for API version {version}, or is not supported for {method}. "
        "Call ListModels to see the list of available models and their supported methods.",
        "use a model of today; list_models names them",
        "Publisher Model `{model}` not found.",
        status=404,
        code="NOT_FOUND",
    ),
    "G73": Words("API key not valid. Please pass a valid API key.", "use a key of this provider"),
    "G74": Words(
        "You exceeded your current quota, please check your plan and billing details.",
        "wait as long as the server says",
        status=429,
        code="RESOURCE_EXHAUSTED",
    ),
    "G75": Words(
        "The model is overloaded. Please try again later.",
        "try again later",
        status=503,
        code="UNAVAILABLE",
    ),
    "G76": Words(
        "The model is overloaded. Please try again later.",
        "try again later",
        status=503,
        code="UNAVAILABLE",
    ),
    "G83": Words(
        "Cannot fetch content from the provided URL. Please ensure the URL is valid and "
        "accessible by Vertex AI. Vertex AI respects "
        "robots.txt rules, so confirm the URL is allowed to be crawled. Status: "
        "URL_ROBOTED-ROBOTED_DENIED",
        "send the bytes, or a gs:// URI",
    ),
    "G84": Words(
        "Cached content model does not match the model in the request.",
        "use the model that the cache was made for",
    ),
    "G85": Words(
        "User location is not supported for the API use.",
        "call from a supported place",
        code="FAILED_PRECONDITION",
    ),
}

PARSER = frozenset(
    {
        "G1",
        "G1 list",
        "G1 value",
        "G2",
        "G3",
        "G19",
        "G20",
        "G25 base64",
        "G38",
        "G39",
        "G40",
        "G41 member",
        "G65",
    },
)
"""Keys of `WORDS` for violations that the server's parser reports: all at once, with details."""

STATE: dict[str, str] = {
    "G23": "which ids the server made",
    "G63": "how many tokens the cached prefix has",
    "G67": "the state of the file",
    "G68": "the files of this key",
    "G69": "how many tokens the input has",
    "G70": "the limit of the method, which is published nowhere",
    "G72": "the models that exist, and their methods",
    "G73": "the key",
    "G74": "the quota",
    "G75": "the load",
    "G76": "the load, after the answer has begun",
    "G83": "what the URL's host allows",
    "G84": "the model that the cache was made for",
    "G85": "where the caller is",
}
"""Rules that depend on the server's state -> that state. `check` cannot report them; `WORDS` has
their error texts.
"""


def server_text(form: str, host: str = "gemini", **names: object) -> str:
    """Return the server's error text for a key of `WORDS`, as the host writes it.

    >>> server_text("G67", name="abc")
    'The File abc is not in an ACTIVE state and usage is not allowed'
    """
    words = WORDS[form]
    return (words.vertex if host == "vertex" and words.vertex else words.text).format(**names)
