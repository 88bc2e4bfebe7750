"""Ollama's client for Python drives an emulated server, or a gateway: URL in, one line of JSON out.

It is run by hand, in an environment that has the client: `python tests/sdks/drive_ollama.py URL`,
with the URL of `wire emulate`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

MODEL = "qwen3:8b"


def drive(url: str) -> dict[str, Any]:
    """Use each endpoint once, and return what came."""
    import ollama  # of the virtual environment of the SDKs

    client: Any = ollama.Client(host=url)
    found: dict[str, Any] = {}
    hi = [{"role": "user", "content": "When is high tide in Brest?"}]
    said = client.chat(MODEL, hi)
    found["chat"] = [said.message.content, said.done_reason, said.eval_count > 0]
    parts = list(client.chat(MODEL, hi, stream=True, think=True))
    found["stream"] = "".join(each.message.content or "" for each in parts)
    found["thinking"] = any(each.message.thinking for each in parts)
    found["ended"] = [each.done for each in parts][-1]

    def tide(port: str) -> str:
        """The tide.

        Args:
            port: The port.
        """
        return f"05:12 in {port}"

    asked = client.chat(MODEL, hi, tools=[tide], think=False)
    [call] = asked.message.tool_calls
    result = {"role": "tool", "content": tide(**call.function.arguments), "tool_name": "tide"}
    found["call"] = [call.function.name, dict(call.function.arguments)]
    after = client.chat(MODEL, [*hi, asked.message, result], tools=[tide], think=False)
    found["result"] = after.message.content
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    found["format"] = list(json.loads(client.chat(MODEL, hi, format=schema).message.content))
    found["generate"] = client.generate(MODEL, "Once").response
    found["embed"] = len(client.embed("nomic-embed-text", ["Ebb.", "Flood."]).embeddings)
    found["list"] = MODEL in [each.model for each in client.list().models]
    found["show"] = client.show(MODEL).capabilities
    found["ps"] = [each.model for each in client.ps().models]
    found["pull"] = [each.status for each in client.pull("llama9", stream=True)][-1]
    found["delete"] = client.delete("llama9").status
    try:
        client.chat("nobody", hi)
    except ollama.ResponseError as error:
        found["error"] = [error.status_code, error.error]
    return found


if __name__ == "__main__":
    print(json.dumps(drive(sys.argv[1])))
