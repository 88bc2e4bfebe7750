"""What a reply shows of itself: one line in a log, HTML in a notebook."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from tests.joined import joined
from wire import (
    AsyncClient,
    Chat,
    Client,
    Media,
    Message,
    Note,
    Reply,
    Stop,
    Text,
    Thought,
    ToolCall,
    Usage,
)
from wire.neutral.messages import Other
from wire.testing.emulator import Emulator, EmulatorTransport

HOSTILE = [
    "<script>alert(1)</script>",
    "</pre></code><img src=x onerror=alert(1)>",
    '"><a href="javascript:alert(1)">x</a>',
    "[x](javascript:alert(1))",
    r"$\href{javascript:alert(1)}{x}$",
    "<!-- --><iframe srcdoc='<script>1</script>'>",
    "&lt;script&gt;",
    "\x1b[2J\u202e</details>",
]


class Page(HTMLParser):
    """The tags and attributes of a page, and its text outside of `<pre>` and `<code>`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.loose = ""
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert [name for name, _ in attrs if name != "style"] == []
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        self.text += data
        if not {"pre", "code"} & set(self.open):
            self.loose += data


def reply(text: str) -> Reply:
    message = Message.assistant(
        Thought(text),
        text,
        ToolCall(id="1", name=text, arguments={text: text}),
        ToolCall(id="2", name="f", arguments=None, text=text),
        Media(url=f"https://host.example/{text}", media_type=text),
        Other(text, {"a": text}),
    )
    usage = Usage(input=1200, output=30, total=1230)
    return Reply(message, Stop("end", text, text), usage, (Note(text, text),), model=text)


@joined("text", HOSTILE)
def test_nothing_that_a_model_wrote_is_a_tag_a_link_or_a_formula(text: str):
    page = Page(reply(text)._repr_html_())
    assert page.tags <= {"div", "details", "summary", "pre", "p", "code", "ul", "li"}
    assert page.loose.replace(" · ", "") == "ThoughtsNotes: 1"
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text


def test_html_shows_the_whole_reply():
    page = Page(reply("Hello.")._repr_html_())
    assert page.text.count("Hello.") == 14
    assert 'Tool call: Hello. {"Hello.": "Hello."}' in page.text
    assert "1,200 tokens in (0 cached)" in page.text
    assert "30 tokens out (0 reasoning)" in page.text
    assert Page(Reply(Message.assistant("a" * 5000), Stop("end"))._repr_html_()).text.startswith(
        "a" * 5000
    )


def test_html_shows_the_cost_where_it_is_known():
    http = EmulatorTransport(Emulator([{"say": "Hello."}]))
    with Chat("anthropic:claude-sonnet-5", api_key="fake-key", http=http) as chat:
        answered = chat.ask("Hi")
    # 1 token at 2 USD and 3 at 10 USD a million, as the docstring of `Reply.cost` has it.
    assert "0.000032 USD" in Page(answered._repr_html_()).text
    assert "USD" not in Page(reply("Hello.")._repr_html_()).text


def test_arguments_that_are_no_json_do_not_hide_a_reply():
    loop: dict[str, object] = {}
    loop["self"] = loop
    shown = Reply(Message.assistant("Hi", ToolCall(name="f", arguments=loop)), Stop("end"))
    assert "Tool call: f 1 arguments" in Page(shown._repr_html_()).text
    assert repr(shown) == "Reply('Hi', tool_calls=['f'], stop='end')"


def test_repr_is_one_short_line():
    assert repr(Reply(Message.assistant("Hi"), Stop("end"))) == "Reply('Hi', stop='end')"
    line = repr(reply("a\n\u202e" * 5000))
    assert "\n" not in line
    assert "\u202e" not in line
    assert len(line) < 1000
    assert repr(reply("Hi")) == (
        "Reply('Hi', tool_calls=['Hi', 'f'], stop='end', tokens=1230, notes=1, model='Hi')"
    )
    assert repr(Message.user("Hi", name="Ann")) == "Message('user', 'Hi', name='Ann')"
    assert len(repr(Message.user("a" * 5000))) < 130
    assert repr(Message("user", (Text("Hi", "c2ln"),))) == "Message('user', 'Hi')"
    assert repr(Media(data=b"x" * 2000, media_type="image/png")) == (
        "Media(2,000 bytes, media_type='image/png')"
    )


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_the_repr_of_a_client_has_no_key(kind: type[Client] | type[AsyncClient]):
    client = kind(
        "deepseek", api_key="fake-key-8f3b1c7d2e9a4f60", headers={"x-token": "8f3b1c7d2e9a"}
    )
    assert repr(client) == f"{kind.__name__}('deepseek', base_url='https://api.deepseek.com')"
