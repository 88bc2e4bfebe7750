"""A client of Anthropic's Messages without a library: right, or wrong as its argument says."""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Any


class Told(Exception):
    def __init__(self, message: str, status: int | None = None, text: str = "") -> None:
        super().__init__(message)
        self.status, self.text = status, text


def sent(task: dict[str, Any], messages: list[Any], wrong: str) -> dict[str, Any]:
    body = {"model": task["model"], "max_tokens": task["max_tokens"], "messages": messages}
    if task["thoughts"]:
        body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    if task["tools"]:
        body["tools"] = [
            {
                "name": each["name"],
                "description": each["description"],
                "input_schema": each["parameters"],
            }
            for each in task["tools"]
        ]
    headers = {"x-api-key": task["api_key"], "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(
        f"{task['base_url']}/v1/messages",
        json.dumps(body | {"stream": task["stream"]}).encode(),
        headers | {"content-type": "application/json"},
    )
    for attempt in range(3):
        try:
            with urllib.request.urlopen(request) as response:
                return read(response, task["stream"], wrong)
        except urllib.error.HTTPError as error:
            words = error.read().decode()
            wait = error.headers.get("retry-after")
            if error.code not in (429, 503) or wait is None or attempt == 2:
                raise Told(words.replace(task["api_key"], "***"), error.code) from None
            time.sleep(float(wait))
        except urllib.error.URLError as error:
            if attempt == 2:
                raise Told(str(error)) from None
        except http.client.RemoteDisconnected:
            pass
        except ConnectionError:
            pass
    raise Told("no response")


def read(response: Any, streams: bool, wrong: str) -> dict[str, Any]:
    if not streams:
        whole_answer: dict[str, Any] = json.loads(response.read())
        return whole_answer
    text, whole = "", False
    try:
        for line in response:
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            if event["type"] == "error":
                raise Told(event["error"]["message"], text=text)
            text += event.get("delta", {}).get("text", "")
            whole = whole or event["type"] == "message_stop"
    except (http.client.HTTPException, OSError, ValueError) as error:
        if wrong != "swallows-cuts":
            raise Told(str(error), text=text) from None
    if not whole and wrong != "swallows-cuts":
        raise Told("the stream ended without message_stop", text=text)
    return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}


def converse(task: dict[str, Any], wrong: str) -> dict[str, Any]:
    messages: list[Any] = []
    calls: list[Any] = []
    answer: dict[str, Any] = {}
    for turn in task["turns"]:
        messages.append({"role": "user", "content": turn})
        while True:
            answer = sent(task, messages, wrong)
            kept = [
                each
                for each in answer["content"]
                if wrong != "drops-signatures" or "thinking" not in each["type"]
            ]
            messages.append({"role": "assistant", "content": kept})
            made = [each for each in kept if each["type"] == "tool_use"]
            if not made:
                break
            calls += [{"name": each["name"], "args": each["input"]} for each in made]
            results = task["tools"][0]["results"]
            ids = [each["id"] for each in made]
            if wrong == "mixes-calls":
                ids.reverse()
            messages.append(
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": id,
                            "content": results[each["input"]["city"]],
                        }
                        for id, each in zip(ids, made, strict=True)
                    ],
                }
            )
    text = "".join(each.get("text", "") for each in answer["content"])
    usage = answer.get("usage") or {}
    return {
        "text": text,
        "calls": calls,
        "stop": answer["stop_reason"],
        "usage": {"input": usage.get("input_tokens"), "output": usage.get("output_tokens")},
    }


def main(wrong: str) -> None:
    task = json.load(sys.stdin)
    if task["wire"] != "anthropic":
        print(json.dumps({"client": "fake 1", "skip": "it speaks Messages alone"}))
        return
    if wrong == "hangs":
        threading.Event().wait()
    if wrong == "prints-no-json":
        print("Hello there, friend.")
        return
    if wrong == "writes-nothing":
        sys.exit("ModuleNotFoundError: No module named 'sdk'")
    if wrong == "prints-key":
        print(f"asking with {task['api_key']}", file=sys.stderr)
    print("a library writes this line")
    try:
        report = converse(task, wrong)
    except Told as error:
        told = {"type": "Told", "message": str(error), "status": error.status}
        report = {"error": told, "text": error.text}
    print(json.dumps({"client": "fake 1", **report}))


if __name__ == "__main__":
    main(sys.argv[1])
