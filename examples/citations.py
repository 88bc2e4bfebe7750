"""A web search that the vendor's server runs, and the sources under the answer.

Runs offline on the emulator; with GEMINI_API_KEY or ANTHROPIC_API_KEY, name a model to ask it:
python examples/citations.py anthropic:claude-sonnet-5
"""

from __future__ import annotations

import sys

import wire
from wire import Chat, Reply
from wire.testing.emulator import Emulator, EmulatorTransport

SAID = {
    "text": "In Brest – at Pointe du Château – high tide is at 05:12 and 17:40.",
    "sources": [
        {"url": "https://shom.example/brest", "title": "Tide tables", "cites": "at 05:12"},
        {"url": "https://port.example/", "title": "Port of Brest", "cites": "17:40"},
    ],
}


def with_marks(reply: Reply) -> str:
    """The text with a number after each span that has a source, and the sources below it."""
    urls = list(dict.fromkeys(each.url for each in reply.citations))
    text = reply.text
    for each in sorted(reply.citations, key=lambda each: each.end or 0, reverse=True):
        if each.end is not None:
            text = f"{text[: each.end]}[{urls.index(each.url) + 1}]{text[each.end :]}"
    titles = {each.url: each.title for each in reply.citations}
    return "\n".join([text, *(f"[{n}] {titles[url]}: {url}" for n, url in enumerate(urls, 1))])


def main(models: list[str]) -> None:
    for model in models or ["gemini:gemini-3.8-flash", "anthropic:claude-sonnet-5"]:
        options = {} if models else {"api_key": "fake-key", "http": offline()}
        with Chat(model, tools=[wire.web_search()], **options) as chat:
            print(f"{model}\n{with_marks(chat.ask('When is high tide in Brest?'))}\n")


def offline() -> EmulatorTransport:
    return EmulatorTransport(Emulator([{"say": SAID}]))


if __name__ == "__main__":
    main(sys.argv[1:])
