"""What is to hold of a recorded form: ours has the same bytes for the same fields."""

from __future__ import annotations

import base64
import binascii
import re

from tests.conformance.records import Record
from tests.conformance.result import APART, Mismatch
from wire.core.multipart import FormFile, Multipart
from wire.neutral.data_source import DataSource
from wire.testing.emulator.multipart import parts
from wire.testing.emulator.received import received

_BOUNDARY = re.compile(r'boundary="?([^"]+)"?$')
_UNQUOTED = re.compile(rb"\bform-data; name=[^\"]")
_OURS = re.compile(r"[A-Za-z0-9'+_.-]+")


def check_form(record: Record) -> None:
    """The form written again from its parts. Some clients add headers to each part, which ours and
    browsers do not; of these the parts alone are compared.
    """
    headers = {key.lower(): value for key, value in (record.get("request_headers") or {}).items()}
    boundary = _BOUNDARY.search(headers.get("content-type", ""))
    body = _body(str(record["request_body"]))
    if boundary is None or not body.endswith(f"--{boundary[1]}--\r\n".encode()):
        APART["form that was cut or changed by its recorder"] += 1
        return
    found = parts(received(1, "POST", "/", headers, body))
    fields: dict[str, list[str | FormFile]] = {}
    for part in found:
        file = FormFile(DataSource(part.data), part.filename or "", part.kind)
        value = file if part.filename else part.data.decode()
        fields.setdefault(part.name, []).append(value)
    own = _OURS.fullmatch(boundary[1]) is not None
    form = Multipart(fields, boundary=boundary[1] if own else "")
    again = b"".join(form)
    if len(form) != len(again):
        raise Mismatch(f"the form has {len(again)} bytes, not {len(form)}")
    headers = {"content-type": form.content_type}
    if parts(received(1, "POST", "/", headers, again)) != found:
        raise Mismatch("the parts of the form are others")
    as_browsers = _UNQUOTED.search(body) is None
    if own and as_browsers and again != body and b"\r\nContent-Transfer-Encoding:" not in body:
        raise Mismatch("the bytes of the form are others")


def _body(text: str) -> bytes:
    if not text.startswith("-"):
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error:
            pass
    return text.encode()
