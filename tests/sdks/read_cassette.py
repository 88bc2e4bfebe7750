"""One stream with a vendor's own client for Python: `read_cassette.py VENDOR URL` prints the texts
of its pieces, or the error, as JSON. Run in `.venv-sdks`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

VENDOR, URL = sys.argv[1:]
QUESTION = "When is high tide?"


def google() -> Iterator[str | None]:
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="fake-key", http_options=types.HttpOptions(base_url=URL))
    model = "gemini-3.1-pro-preview"
    for chunk in client.models.generate_content_stream(model=model, contents=QUESTION):
        yield chunk.text


def openai() -> Iterator[str | None]:
    from openai import OpenAI

    client = OpenAI(api_key="fake-key", base_url=f"{URL}/v1", max_retries=0)
    for chunk in client.chat.completions.create(
        model="gpt-5.4", messages=[{"role": "user", "content": QUESTION}], stream=True
    ):
        yield chunk.choices[0].delta.content


def anthropic() -> Iterator[str | None]:
    from anthropic import Anthropic

    client = Anthropic(api_key="fake-key", base_url=URL, max_retries=0)
    with client.messages.stream(
        model="claude-sonnet-4-5",
        max_tokens=2000,
        messages=[{"role": "user", "content": QUESTION}],
    ) as stream:
        yield from stream.text_stream


pieces: list[str] = []
error = ""
try:
    for piece in {"google": google, "openai": openai, "anthropic": anthropic}[VENDOR]():
        if piece:
            pieces.append(piece)
except Exception as raised:
    error = f"{type(raised).__name__}: {raised}"
print(json.dumps([pieces, error]))
