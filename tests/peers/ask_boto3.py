"""Amazon's client for Python, on Converse. It signs: it sends keys of Bedrock over HTTPS alone."""

from __future__ import annotations

import json
import os
from typing import Any

import boto3
from conversing import Answer, Call, Session, main


class Converse(Session):
    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        del os.environ["AWS_BEARER_TOKEN_BEDROCK"]
        self.client = boto3.client(
            "bedrock-runtime",
            endpoint_url=task["base_url"],
            aws_access_key_id="AKIDEXAMPLE",  # the emulator knows its secret
            aws_secret_access_key="fake-secret",
        )
        self.messages: list[Any] = []

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": [{"text": text}]})

    def ask(self) -> Answer:
        self.text = ""
        given: dict[str, Any] = {
            "modelId": self.task["model"],
            "messages": self.messages,
            "inferenceConfig": {"maxTokens": self.task["max_tokens"]},
        }
        if self.task["thoughts"]:
            thinking = {"type": "enabled", "budget_tokens": 1024}
            given["additionalModelRequestFields"] = {"thinking": thinking}
        if self.task["tools"]:
            tools = [
                {
                    "name": each["name"],
                    "description": each["description"],
                    "inputSchema": {"json": each["parameters"]},
                }
                for each in self.task["tools"]
            ]
            given["toolConfig"] = {"tools": [{"toolSpec": each} for each in tools]}
        if self.task["stream"]:
            content, stop, usage = self._streamed(self.client.converse_stream(**given)["stream"])
        else:
            answer = self.client.converse(**given)
            content, stop = answer["output"]["message"]["content"], answer["stopReason"]
            usage = answer["usage"]
        self.messages.append({"role": "assistant", "content": content})
        text = "".join(each.get("text", "") for each in content)
        uses = [each["toolUse"] for each in content if "toolUse" in each]
        calls = [Call(each["toolUseId"], each["name"], each["input"]) for each in uses]
        return Answer(text, stop, (usage.get("inputTokens"), usage.get("outputTokens")), calls)

    def _streamed(self, events: Any) -> tuple[list[Any], Any, dict[str, Any]]:
        """Join the pieces of a stream, as there is no helper."""
        blocks: dict[int, dict[str, Any]] = {}
        stop, usage = None, {}
        for event in events:
            if "contentBlockStart" in event:
                start = event["contentBlockStart"]
                use = {**start["start"]["toolUse"], "input": ""}
                blocks[start["contentBlockIndex"]] = {"toolUse": use}
            elif "contentBlockDelta" in event:
                delta = event["contentBlockDelta"]["delta"]
                block = blocks.setdefault(event["contentBlockDelta"]["contentBlockIndex"], {})
                if "text" in delta:
                    self.text += delta["text"]
                    block["text"] = block.get("text", "") + delta["text"]
                elif "toolUse" in delta:
                    block["toolUse"]["input"] += delta["toolUse"]["input"]
                else:
                    thought = block.setdefault("reasoningContent", {"reasoningText": {}})
                    for key, piece in delta["reasoningContent"].items():
                        before = thought["reasoningText"].get(key, "")
                        thought["reasoningText"][key] = before + piece
            elif "messageStop" in event:
                stop = event["messageStop"]["stopReason"]
            elif "metadata" in event:
                usage = event["metadata"]["usage"]
        content = [blocks[at] for at in sorted(blocks)]
        if stop == "tool_use":
            for use in (each["toolUse"] for each in content if "toolUse" in each):
                use["input"] = json.loads(use["input"])
        return content, stop, usage

    def results(self, pairs: list[tuple[Call, str]]) -> None:
        content = [
            {"toolResult": {"toolUseId": call.id, "content": [{"text": result}]}}
            for call, result in pairs
        ]
        self.messages.append({"role": "user", "content": content})


if __name__ == "__main__":
    main("boto3", {"converse": Converse})
