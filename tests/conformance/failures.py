"""Requests that the real server refused: each foretold by `check`, and refused by us as it was by
the server.

A case is one JSON object a line: `id`, `rule`, `endpoint`, `run` (model, host, version, dated),
`bad_payload`, `http_status`, `error_message`, `message_kind`, and maybe `neutral_schema`. What
holds of a case:

- `check` names its rule, as an error, or as a warning where the case is dated; of what depends on
  the server's state, it finds nothing.
- We refuse with the case's status and message: to the letter where it is verbatim, else as the same
  sentence about other names.
- Of a neutral schema our builders make a body that `check` lets pass, or they refuse it and name
  the place.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.conformance.records import lines
from tests.conformance.result import Mismatch, Result
from tests.gemini.bodies import host_row
from wire import gemini, notes
from wire.core.provider import Provider
from wire.errors import SchemaError, Violation
from wire.gemini.rules import STATE, WORDS, check, server_text
from wire.testing.emulator import Emulator

Case = dict[str, Any]

NEEDED = (
    "id",
    "rule",
    "endpoint",
    "run",
    "bad_payload",
    "http_status",
    "error_message",
    "message_kind",
)
SIMPLE_TYPES = {"string", "number", "integer", "boolean", "array", "object", "null"}


def run(paths: list[str]) -> Result:
    """Every case of the files."""
    result = Result()
    for path in paths:
        for case in lines(Path(path), NEEDED):
            result.records += 1
            result.hold(case, [check_case], "rule")
    return result


def check_case(case: Case) -> None:
    """Raise `Mismatch` unless the case is foretold, refused as it was, and its schema can
    be sent.
    """
    check_foretold(case)
    check_refused(case)
    if case.get("neutral_schema") is not None:
        check_lowered(case)


# --- foretold -------------------------------------------------------------------------------------


def found_in(case: Case) -> list[Violation]:
    """What `check` finds in the payload, for the model and host that the case runs on."""
    to = case["run"]
    endpoint = str(case["endpoint"]).removeprefix("models.")
    return check(
        json.dumps(case["bad_payload"]).encode(), to["model"], row_of(case), endpoint=endpoint
    )


def row_of(case: Case) -> Provider:
    """The row of the host that the case runs on."""
    return host_row(case["run"]["host"], case["run"].get("version", "v1beta"))


def check_foretold(case: Case) -> None:
    """The case's rule, and no error of another one."""
    found = found_in(case)
    others = [
        violation
        for violation in found
        if violation.severity == "error" and violation.rule != case["rule"]
    ]
    if others:
        raise Mismatch(f"another error: {others[0]}")
    if case["rule"] in STATE:
        return
    severity = "warning" if case["run"].get("dated") else "error"
    mine = [violation for violation in found if violation.rule == case["rule"]]
    if {violation.severity for violation in mine} != {severity}:
        raise Mismatch(f"no {severity} of the rule: {[str(violation) for violation in found]}")
    for violation in mine:
        if (
            not (violation.path or case["rule"] == "G3")
            or not violation.message
            or not violation.remedy
        ):
            raise Mismatch(f"expected a path, a message and a remedy: {violation!r}")


# --- refused --------------------------------------------------------------------------------------


SERVED = {"G63", "G67", "G68"}
"""Rules that depend on the server's state, and whose state the emulator has."""


def refuse(case: Case) -> tuple[int, str]:
    """Status and message with which the emulator refuses the case's payload, the server's state set
    up as the case wants it.
    """
    to = case["run"]
    if case["rule"] in set(STATE) - SERVED:
        return WORDS[case["rule"]].status, server_text(case["rule"], to["host"], **_state(case))
    # The requests were refused while their models were alive.
    emulator = Emulator(warnings_too=bool(to.get("dated")), date="2025-06-01")
    if case["rule"] == "G67":
        _upload(emulator, _state(case)["name"])
    vertex = to["host"] == "vertex"
    root = (
        "/v1beta1/projects/p/locations/us-central1" if vertex else f"/{to.get('version', 'v1beta')}"
    )
    resource, _, method = str(case["endpoint"]).partition(".")
    path = (
        f"{'/publishers/google' if vertex else ''}/models/{to['model']}:{method}"
        if resource == "models"
        else f"/{resource}"
    )
    head = {"authorization": "Bearer fake-token"} if vertex else {"x-goog-api-key": "fake-key"}
    answer = emulator.answer("POST", root + path, head, json.dumps(case["bad_payload"]).encode())
    body = json.loads(answer.body) if answer.status != 200 else {"error": {"message": ""}}
    return answer.status, (body[0] if isinstance(body, list) else body)["error"]["message"]


def _upload(emulator: Emulator, name: str) -> None:
    """A video of that name, which is looked at for a while before it is ACTIVE."""
    head = {
        "x-goog-api-key": "fake-key",
        "x-goog-upload-protocol": "resumable",
        "x-goog-upload-command": "start",
    }
    about = {"file": {"name": f"files/{name}", "mimeType": "video/mp4"}}
    kind = {
        "x-goog-upload-header-content-type": "video/mp4",
        "x-goog-upload-header-content-length": "1",
    }
    begun = emulator.answer(
        "POST", "/upload/v1beta/files", {**head, **kind}, json.dumps(about).encode()
    )
    url = dict(begun.headers)["x-goog-upload-url"]
    target = url.partition("//")[2].partition("/")[2]
    last = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0"}
    emulator.answer("POST", f"/{target}", last, b"\0")


def _state(case: Case) -> dict[str, Any]:
    """What the server would know: names are those of the payload, numbers any."""
    uris = re.findall(r'"file_?[uU]ri": "([^"]*)"', json.dumps(case["bad_payload"]))
    name = uris[0].rpartition("/")[2] if uris else ""
    return {
        "name": name,
        "count": 1,
        "least": 1024,
        "most": 1048576,
        "limit": 4194304,
        "model": case["run"]["model"],
        "version": case["run"].get("version", "v1beta"),
        "method": str(case["endpoint"]).removeprefix("models."),
    }


def check_refused(case: Case) -> None:
    """Status and message. Of several lines of the parser, the case has one."""
    status, message = refuse(case)
    if status != case["http_status"]:
        raise Mismatch(f"refused with {status}, not {case['http_status']}")
    wanted = case["error_message"]
    if case["message_kind"] == "verbatim" and case["rule"] not in STATE:
        if wanted not in (message, *message.split("\n")):
            raise Mismatch(f"refused with {message!r}, not {wanted!r}")
    elif template(wanted) not in (template(message), *map(template, message.split("\n"))):
        raise Mismatch(f"refused with {message!r}, which is not of the form of {wanted!r}")


def template(message: str) -> str:
    """The sentence without its names, numbers and paths, and without what was added to it or cut
    off of it.

    >>> template("* GenerateContentRequest.tools[0].function_declarations[1].name: Name cannot be empty.\\n")
    '* PATH: Name cannot be empty'
    """  # noqa: E501
    text = re.sub(r"\* \w+Request\.[^\s:]*:", "* PATH:", message.strip())
    text = (
        re.sub(
            r"^(Invalid value at) '[^']*'.*?(, Base64 decoding failed)?( for .*)?$",
            r"\1 PATH\2",
            text,
        )
        if "(oneof)" not in text
        else text
    )
    text = re.sub(r"\s*\(variant[^)]*\)|\s*…$|\s*\.\.\.$", "", text)
    text = re.sub(r"(undefined schema at) \S+", r"\1 PATH", text)
    text = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\bmodels/\S+", "NAME", text)
    text = re.sub(r"(The File|declaration found:|MIME type:|level) \S+", r"\1 NAME", text)
    return re.sub(r"\d[\d.,]*", "N", text).strip(" .")


# --- lowered --------------------------------------------------------------------------------------


def check_lowered(case: Case) -> None:
    """A body that `check` lets pass, or a `SchemaError` with the place; the schema stays as
    it was.
    """
    source = case["neutral_schema"]
    before = json.dumps(source)
    try:
        request = lowered(case)
    except SchemaError as error:
        if not error.violations or not error.violations[0].path:
            raise Mismatch(f"refused without a place: {error}") from None
        print(f"{case['id']}: refused, {reason(source, error.violations[0])}")
    else:
        to = case["run"]
        wrong = [
            each for each in check(request, to["model"], row_of(case)) if each.severity == "error"
        ]
        if wrong:
            raise Mismatch(f"what our builders make is refused: {wrong[0]}")
    if json.dumps(source) != before:
        raise Mismatch("the schema of the caller was changed")


def lowered(case: Case) -> gemini.GenerateContentRequest:
    """The request that our builders make of the neutral schema, as the function's parameters or as
    the answer's form.
    """
    config = (
        case["bad_payload"].get("generationConfig")
        or case["bad_payload"].get("generation_config")
        or {}
    )
    if not {
        "responseSchema",
        "response_schema",
        "responseJsonSchema",
        "response_json_schema",
    }.isdisjoint(config):
        form = gemini.schema(case["neutral_schema"], path="responseSchema")
        _noted(case, notes(form))
        generation = gemini.GenerationConfig(
            response_mime_type="application/json", response_schema=form
        )
        return gemini.GenerateContentRequest(
            contents=gemini.contents("go"), generation_config=generation
        )
    declaration = gemini.function_declaration("t", "d", case["neutral_schema"])
    _noted(case, notes(declaration))
    return gemini.GenerateContentRequest(
        contents=gemini.contents("go"), tools=gemini.tools(declaration)
    )


def _noted(case: Case, found: Any) -> None:
    if found:
        print(f"{case['id']}: sent with losses, {'; '.join(map(str, found))}"[:300])


def reason(source: Any, violation: Violation) -> str:
    """Why nothing faithful can be sent."""
    if violation.rule == "G40":
        odd = sorted({str(kind) for kind in _types(source) if kind not in SIMPLE_TYPES})
        return f"{violation.path}: this is no JSON Schema, which has no type {', '.join(odd)}"
    return str(violation)


def _types(value: Any) -> list[Any]:
    if isinstance(value, dict):
        own = value.get("type", [])
        return [
            *(own if isinstance(own, list) else [own]),
            *(kind for item in value.values() for kind in _types(item)),
        ]
    return [kind for item in value for kind in _types(item)] if isinstance(value, list) else []
