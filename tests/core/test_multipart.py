"""Bodies of type multipart/form-data: bytes, sizes, escapes, what is refused."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire import Client, anthropic, openai
from wire.core.multipart import FormFile, Multipart
from wire.errors import ConfigurationError, RuleError
from wire.neutral.data_source import DataSource, form_file
from wire.testing.emulator.multipart import parts
from wire.testing.emulator.received import received


def form(data: Any = b"%PDF-1.7 x", name: str = "a.pdf", **more: Any) -> Multipart:
    fields: dict[str, str | FormFile] = {
        "purpose": "user_data",
        "file": form_file(data, name, "", None),
    }
    return Multipart(fields, boundary="B", **more)


def test_the_bytes_of_a_form() -> None:
    assert b"".join(form()) == (
        b'--B\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n'
        b'--B\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n'
        b"Content-Type: application/pdf\r\n\r\n%PDF-1.7 x\r\n--B--\r\n"
    )


@joined(
    ("name", "written"),
    [
        ("a.txt", "a.txt"),
        ('say "hi".txt', "say %22hi%22.txt"),
        ("a\r\nX: y.txt", "a%0D%0AX: y.txt"),
        ("résumé 日.txt", "résumé 日.txt"),
        ("back\\slash%22.txt", "back\\slash%22.txt"),
        ("no\udce9utf8.txt", "no?utf8.txt"),
    ],
)
def test_names_are_escaped_as_browsers_do(name: str, written: str) -> None:
    body = b"".join(Multipart({name: FormFile(DataSource(b"x"), name)}, boundary="B"))
    assert f'name="{written}"; filename="{written}"\r\n'.encode() in body
    assert body.count(b"\r\n") == 6


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=20), max_size=3),
    st.binary(max_size=200),
)
def test_the_length_is_exact_and_a_parser_finds_the_data(
    texts: dict[str, str], data: bytes
) -> None:
    texts = {
        f"text {key}": value.encode("utf-8", "replace").decode() for key, value in texts.items()
    }
    made = Multipart({**texts, "file": form_file(data, "a.bin", "", None)})
    body = b"".join(made)
    assert len(made) == len(body) == len(b"".join(made))
    read = parts(received(1, "POST", "/", {"content-type": made.content_type}, body))
    assert (read[-1].name, read[-1].filename, read[-1].data) == ("file", "a.bin", data)
    assert [part.data.decode() for part in read[:-1]] == list(texts.values())


def test_a_file_is_read_in_pieces_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "big.bin"
    path.write_bytes(bytes(300_000))
    pieces = list(form(path, ""))
    assert max(map(len, pieces)) < 70_000
    assert sum(map(len, pieces)) == len(form(path, ""))


def test_one_form_is_read_by_several_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(range(256)) * 1000)
    made = form(path, "")
    first, second = iter(made), iter(made)
    both = [(next(first, b""), next(second, b"")) for _ in range(9)]
    assert b"".join(one for one, _ in both) == b"".join(other for _, other in both)
    assert sum(len(one) for one, _ in both) == len(made)


def test_a_random_boundary_is_another_one_each_time() -> None:
    first, second = Multipart({}), Multipart({})
    assert first.boundary != second.boundary
    assert re.fullmatch("[0-9a-f]{32}", first.boundary)


@joined(
    ("made", "problem"),
    [
        (lambda: Multipart({}, boundary="a b"), "boundary: expected 1 to 70"),
        (lambda: Multipart({}, boundary="x" * 71), "boundary: expected 1 to 70"),
        (lambda: Multipart({"a": "--B"}, boundary="B"), "boundary: the field a contains it"),
        (
            lambda: Multipart({"f": FormFile(DataSource(b""), "a", "text/plain\r\nx: y")}),
            "is no media type",
        ),
        (lambda: openai.upload_file(b"x", purpose="batch"), "filename: required for bytes"),
        (lambda: openai.upload_file("/no/such", purpose="batch"), "cannot be read"),
        (lambda: openai.upload_file(b"x", purpose=" ", filename="a"), "purpose: expected"),
        (
            lambda: openai.upload_file(b"x", purpose="batch", filename="a", expires_after=10),
            "expires_after: expected a whole number from 3600 to 2592000, not 10",
        ),
        (lambda: openai.upload_file(b"x", purpose="batch", filename="a", size=2), "has 1 bytes"),
        (lambda: anthropic.upload_file(3, filename="a"), "data: expected"),  # type: ignore[arg-type]
        (
            lambda: anthropic.upload_file(b"x", filename="a", expires_in_seconds=1),
            "expires_in_seconds: expected a whole number from 3600 to 7776000, not 1",
        ),
    ],
)
def test_what_is_refused(made: Any, problem: str) -> None:
    with pytest.raises(RuleError, match=re.escape(problem)):
        made()


def test_a_file_that_cannot_seek_needs_its_size_and_is_never_sent_again() -> None:
    class Pipe:
        def __init__(self) -> None:
            self._data = io.BytesIO(b"hello")

        def read(self, size: int) -> bytes:
            return self._data.read(size)

    with pytest.raises(RuleError, match="size: required for a file that cannot seek"):
        openai.upload_file(Pipe(), purpose="user_data", filename="a")
    call = openai.upload_file(Pipe(), purpose="user_data", filename="a", size=5)
    assert not call.idempotent
    assert call.form is not None
    assert b"hello" in b"".join(call.form)
    with pytest.raises(ConfigurationError, match="can be sent once only"):
        b"".join(call.form)


def test_an_open_file_is_sent_from_where_it_is_each_time() -> None:
    file = io.BytesIO(b"skipped kept")
    file.seek(8)
    call = openai.upload_file(file, purpose="user_data", filename="a")
    assert call.idempotent
    assert call.form is not None
    assert b"\r\n\r\nkept\r\n" in b"".join(call.form)
    assert b"\r\n\r\nkept\r\n" in b"".join(call.form)


def test_the_preview_shows_the_form_without_its_file() -> None:
    call = openai.upload_file(b"secret", purpose="batch", filename="it's.jsonl", boundary="B")
    with Client("openai", api_key="fake-key") as client:
        for preview in (call.preview(), client.preview(call)):
            assert b"secret" not in preview.body
            assert b"<6 bytes>" in preview.body
            assert "content-type: multipart/form-data; boundary=B" in str(preview)
            words = preview.curl
            assert "--form-string purpose=batch" in words
            assert """-F 'file=@it'"'"'s.jsonl;type=application/jsonl'""" in words
            assert "multipart/form-data" not in words


def test_a_call_has_a_form_or_a_body() -> None:
    call = openai.list_files()
    with pytest.raises(ConfigurationError, match="form: expected a Multipart"):
        type(call)(
            "openai", "POST", "/files", b"{}", parse=call.parse, read_error=call.read_error,
            form=form(),
        )  # fmt: skip
    with pytest.raises(RuleError, match="the body of this call is not a JSON object"):
        openai.upload_file(b"x", purpose="batch", filename="a").replace(body_extra={"a": 1})
