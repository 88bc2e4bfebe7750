"""Secrets that look real, made anew in each run, so that no file of this project holds one."""

from __future__ import annotations

import base64
import json
import random
import string

_LETTERS = string.ascii_letters + string.digits


def planted(seed: int = 7) -> dict[str, str]:
    """Kind, as `scan` names it, to the text in which a file would hold the secret."""
    dice = random.Random(seed)

    def word(length: int, letters: str = _LETTERS) -> str:
        # A letter and a digit at the end, which a random word may lack.
        return "".join(dice.choices(letters, k=length - 2)) + "Q7"

    def encoded(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).decode().rstrip("=")

    claims = json.dumps({"sub": word(12)}).encode()
    header = encoded(b'{"alg":"HS256"}')
    return {
        "Google API key": "AIza" + word(35),
        "OpenAI key": "sk-proj-" + word(44),
        "Anthropic key": "sk-ant-api03-" + word(60),
        "bearer token": "Bearer " + word(40),
        "JWT": f"{header}.{encoded(claims)}.{word(43)}",
        "AWS access key": "AKIA" + word(16, string.ascii_uppercase + string.digits),
        "GitHub token": "ghp_" + word(36),
        "private key": "\n".join(
            (f"-----{each} PRIVATE KEY-----" if each else word(64)) for each in ("BEGIN", "", "END")
        ),
        "cookie": "Cookie: session=" + word(32),
        "key in a URL": "https://host/v1?alt=sse&key=" + word(32),
        "basic authentication": "Basic "
        + base64.b64encode(f"{word(8)}:{word(16)}".encode()).decode(),
        "GitHub token, in base64": base64.b64encode(("ghp_" + word(36)).encode()).decode(),
    }


def value_of(text: str) -> str:
    """The secret alone, without what stands around it in the text."""
    for before in ("Bearer ", "Basic ", "Cookie: session=", "key="):
        text = text.rpartition(before)[2]
    return text
