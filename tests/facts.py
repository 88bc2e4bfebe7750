"""`python -m tests.facts [FOLDER]`: what the vendors' SDKs of today name that has no row.

It downloads the newest wheels of the three SDKs, reads their sources without importing them, and
compares models, efforts, keys of requests, stop reasons and codes of errors with the tables of the
library. A name that is known to need no row is in `LEFT_OUT`, with the reason. It ends with 1 if a
name is in neither. FOLDER holds wheels that were downloaded before.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from wire import anthropic, gemini, openai
from wire.catalogue.catalogue import has_model
from wire.catalogue.facts import EFFORTS, facts, is_in
from wire.catalogue.settings import table
from wire.catalogue.stops import words_of
from wire.openai.responses.types import ResponseRequest

SDKS = ("openai", "anthropic", "google-genai")
LEFT_OUT = {
    "automaticContinuation": "a setting of google-genai itself, which it does not send",
    "automaticFunctionCalling": "a setting of google-genai itself, which it does not send",
    "httpOptions": "a setting of google-genai itself, which it does not send",
    "shouldReturnHttpResponse": "a setting of google-genai itself, which it does not send",
    "BLOCKED_REASON_UNSPECIFIED": "the default of the enum, which no server sends",
}
"""Names that need no row, and why."""
SENT_AS = {"modelSelectionConfig": "modelConfig", "generationOutputConfig": "outputConfig"}
"""Settings of google-genai that it sends under another name."""


class Sources:
    """The sources of an SDK, in its wheel."""

    def __init__(self, wheel: Path) -> None:
        self._wheel = zipfile.ZipFile(wheel)
        self.name, self.version = wheel.name.split("-")[:2]

    def tree(self, path: str) -> ast.Module:
        return ast.parse(self._wheel.read(path))

    def literals(self, path: str, name: str, owner: str = "") -> list[str]:
        """The texts in the value or the annotation of a name, in a file or in a class of it."""
        found: list[str] = []
        for place in ast.walk(self.tree(path)):
            if owner and not (isinstance(place, ast.ClassDef) and place.name == owner):
                continue
            for node in getattr(place, "body", []):
                if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
                    for part in (node.annotation, node.value):
                        found += texts(part) if part is not None else []
        return found

    def fields(self, path: str, *classes: str) -> list[str]:
        """The names of the annotated fields of classes, and of the members of an enum."""
        names = []
        for node in ast.walk(self.tree(path)):
            if isinstance(node, ast.ClassDef) and node.name in classes:
                for each in node.body:
                    if isinstance(each, ast.AnnAssign):
                        names.append(ast.unparse(each.target))
                    elif isinstance(each, ast.Assign):
                        names.append(ast.unparse(each.targets[0]))
        return names


def texts(node: ast.AST) -> list[str]:
    return [
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]


def camel(name: str) -> str:
    """The name of a field as the body has it: `max_output_tokens` is `maxOutputTokens`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def keys_of(column: str, *structs: type[msgspec.Struct]) -> set[str]:
    """The keys that a wire's structs and the rows of settings have."""
    named = (getattr(row, column) for row in table().settings)
    own = (field.encode_name for each in structs for field in msgspec.structs.fields(each))
    return {part for path in named if path for part in path.split(".")} | set(own)


def lacking(names: Iterable[str], known: Iterable[str]) -> list[str]:
    return sorted({SENT_AS.get(name, name) for name in names} - set(known) - set(LEFT_OUT))


def no_models(names: Iterable[str], provider: str) -> list[str]:
    return sorted(
        name
        for name in set(names)
        if not facts(name).id
        and not has_model(provider, name)
        and not is_in("catalogue.no-chat", name)
        and not is_in("catalogue.ended", name)
    )


def of_openai(sdk: Sources) -> Iterator[tuple[str, list[str]]]:
    types = "openai/types"
    models = sdk.literals(f"{types}/shared/chat_model.py", "ChatModel")
    models += sdk.literals(f"{types}/shared/responses_model.py", "ResponsesModel")
    yield "model", no_models(models, "openai")
    efforts = sdk.literals(f"{types}/shared/reasoning_effort.py", "ReasoningEffort")
    yield "effort", lacking(efforts, EFFORTS)
    chat = sdk.fields(f"{types}/chat/completion_create_params.py", "CompletionCreateParamsBase")
    known = keys_of("chat", openai.ChatCompletionRequest)
    yield "key of chat completions", lacking(chat, known)
    path = f"{types}/responses/response_create_params.py"
    responses = sdk.fields(path, "ResponseCreateParamsBase")
    yield "key of Responses", lacking(responses, keys_of("responses", ResponseRequest))
    status = sdk.literals(f"{types}/responses/response_status.py", "ResponseStatus")
    yield "status of Responses", lacking(status, words_of("responses"))
    reasons = sdk.literals(f"{types}/responses/response.py", "reason", "IncompleteDetails")
    yield "incomplete reason of Responses", lacking(reasons, words_of("responses"))
    finish = sdk.literals(f"{types}/chat/chat_completion.py", "finish_reason")
    yield "finish reason of chat completions", lacking(finish, words_of("chat"))


def of_anthropic(sdk: Sources) -> Iterator[tuple[str, list[str]]]:
    types = "anthropic/types"
    yield "model", no_models(sdk.literals(f"{types}/model.py", "Model"), "anthropic")
    keys = sdk.fields(f"{types}/message_create_params.py", "MessageCreateParamsBase")
    yield "key of Messages", lacking(keys, keys_of("messages", anthropic.MessageRequest))
    for place in ("stop_reason", "beta/beta_stop_reason"):
        name = "StopReason" if place == "stop_reason" else "BetaStopReason"
        words = sdk.literals(f"{types}/{place}.py", name)
        yield f"stop reason ({name})", lacking(words, words_of("messages"))
    efforts = sdk.literals(f"{types}/output_config_param.py", "effort")
    yield "effort", lacking(efforts, EFFORTS)


def of_genai(sdk: Sources) -> Iterator[tuple[str, list[str]]]:
    path = "google/genai/types.py"
    keys = [camel(name) for name in sdk.fields(path, "GenerateContentConfig")]
    known = keys_of("gemini", gemini.GenerateContentRequest, gemini.GenerationConfig)
    yield "key of generateContent", lacking(keys, known)
    yield "finish reason", lacking(sdk.fields(path, "FinishReason"), words_of("gemini"))
    blocks = sdk.fields(path, "BlockedReason")
    yield "reason of a block", lacking(blocks, words_of("gemini.block"))
    levels = [each.lower() for each in sdk.fields(path, "ThinkingLevel")]
    yield "thinking level", lacking(levels, (*EFFORTS, "thinking_level_unspecified"))


READERS = {"openai": of_openai, "anthropic": of_anthropic, "google_genai": of_genai}


def wheels(folder: Path) -> list[Path]:
    """The wheels in a folder; the newest are downloaded into an empty one."""
    if not list(folder.glob("*.whl")):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
        subprocess.run([*pip, *SDKS], check=True)
    return sorted(folder.glob("*.whl"))


def main(arguments: list[str]) -> int:
    lacks = 0
    with tempfile.TemporaryDirectory() as empty:
        for wheel in wheels(Path(arguments[0] if arguments else empty)):
            sdk = Sources(wheel)
            found = dict(READERS[sdk.name](sdk))
            lacks += sum(map(len, found.values()))
            print(f"{sdk.name} {sdk.version}: {len(found)} lists compared")
            for kind, names in found.items():
                for name in names:
                    print(f"  {kind} without a row: {name}")
    return 1 if lacks else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
