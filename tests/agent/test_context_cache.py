"""Context caches of agents, and a cache kept by a task, against the emulator: made, refreshed, lost
and made again, deleted; on a clock of the test's.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx
import pytest

from tests.joined import joined
from wire import AsyncClient, gemini
from wire.agent import Agent, CacheKeeper, CachePolicy, LLMAgent, keep
from wire.chat.chat import AsyncChat, Chat
from wire.core.memory import Note
from wire.core.retry import NONE
from wire.errors import ConfigurationError, RuleError
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

SHARED = gemini.GenerateContentRequest(
    system_instruction=gemini.contents("All about tides. " * 2000)[0]
)
REQUEST = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))


class Clock:
    """A time that only the test moves on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []
        self._moved = anyio.Event()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        until = self.now + seconds
        while self.now < until:
            await self._moved.wait()

    def move(self, seconds: float) -> None:
        self.now += seconds
        self._moved.set()
        self._moved = anyio.Event()


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not holds():
            await anyio.lowlevel.checkpoint()


@pytest.fixture(params=["asyncio", "trio"])
def kept(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Run `work(keeper, clock, emulator)` inside the block of `keep`."""

    def run(
        work: Callable[[CacheKeeper, Clock, Emulator], Awaitable[None]],
        after: Callable[[Emulator], None],
        **options: Any,
    ) -> None:
        async def main() -> None:
            emulator, clock = Emulator(), Clock()
            async with AsyncClient(
                "gemini", api_key="fake-key", http=AsyncEmulatorTransport(emulator)
            ) as client:
                cache = gemini.ContextCache("gemini-2.5-flash", SHARED, ttl=600, **options)
                async with keep(client, cache, clock=clock, sleep=clock.sleep) as keeper:
                    await work(keeper, clock, emulator)
            after(emulator)

        anyio.run(main, backend=request.param)

    return run


def asked(emulator: Emulator) -> list[str]:
    return [
        f"{each['method']} {each['target'].rpartition('/')[2].partition('?')[0]}"
        for each in emulator.requests
    ]


@pytest.mark.row("S3-28")
def test_a_cache_is_made_used_refreshed_and_deleted(kept: Any) -> None:
    names: list[str] = []

    async def work(keeper: CacheKeeper, clock: Clock, emulator: Emulator) -> None:
        names.append((keeper.cache.name or "").rpartition("/")[2])
        await keeper.generate(REQUEST)
        assert "systemInstruction" not in emulator.requests[-1]["body"]
        assert emulator.requests[-1]["body"]["cachedContent"] == keeper.cache.name
        await until(lambda: clock.sleeps == [300.0])
        clock.move(299)
        await anyio.lowlevel.checkpoint()
        assert clock.sleeps == [300.0]
        clock.move(1)
        await until(lambda: clock.sleeps == [300.0, 300.0])

    def after(emulator: Emulator) -> None:
        made = [
            "POST gemini-2.5-flash:countTokens",
            "POST cachedContents",
            "POST gemini-2.5-flash:generateContent",
        ]
        assert asked(emulator) == [*made, f"PATCH {names[0]}", f"DELETE {names[0]}"]

    kept(work, after)


def test_a_cache_that_is_lost_is_made_again_at_once(kept: Any) -> None:
    async def work(keeper: CacheKeeper, clock: Clock, emulator: Emulator) -> None:
        first = keeper.cache.name
        await until(lambda: clock.sleeps == [300.0])
        emulator.answer("DELETE", f"/v1beta/{first}", {"x-goog-api-key": "fake-key"}, b"")
        answer = await keeper.generate(REQUEST)
        assert answer.text
        assert (
            "systemInstruction" in emulator.requests[-1]["body"]
        )  # whole, since no answer may depend on the cache
        await until(lambda: keeper.cache.name not in (None, first))
        assert clock.now == 0.0
        assert [note.path for note in keeper.cache.notes] == ["contextCache.use"]

    kept(work, lambda emulator: None)


def test_too_few_tokens_are_not_kept_and_nothing_waits(kept: Any) -> None:
    async def work(keeper: CacheKeeper, clock: Clock, emulator: Emulator) -> None:
        await keeper.generate(REQUEST)
        assert (keeper.cache.name, keeper.cache.due, clock.sleeps) == (None, None, [])

    kept(work, lambda emulator: None, least=10**6)


def test_an_error_of_the_block_deletes_the_cache_and_is_the_callers(kept: Any) -> None:
    seen: list[Emulator] = []

    async def work(keeper: CacheKeeper, clock: Clock, emulator: Emulator) -> None:
        seen.append(emulator)
        raise LookupError("the caller's own")

    with pytest.raises(LookupError, match="the caller's own"):
        kept(work, lambda emulator: None)
    assert asked(seen[0])[-1].startswith("DELETE ")


# --- caches of agents -----------------------------------------------------------------------------

MODEL = "gemini-2.5-flash"
SYSTEM = "All about tides. " * 2000
CALL = {"name": "high_tide", "args": {"port": "Brest"}}
PARENT = "projects/my-project/locations/global"


def high_tide(port: str) -> str:
    """When the tide is high."""
    return "17:40"


def next_tide(port: str) -> str:
    """When the next tide is high."""
    return "06:05"


class Cached:
    """An agent with a cache in one style, its clock, and the emulator behind it."""

    def __init__(
        self,
        style: str,
        script: Any = ({"say": "Hello."},) * 9,
        *,
        system: str = SYSTEM,
        policy: CachePolicy | None = None,
        transport: Any = None,
        model: str = f"gemini:{MODEL}",
        **options: Any,
    ) -> None:
        self.style, self.system, self.now = style, system, 0.0
        self.emulator = Emulator(list(script))
        self.policy = policy or CachePolicy(ttl=600, display_name="tides")
        kind: Any = Chat if style == "threads" else AsyncChat
        emulated = EmulatorTransport if style == "threads" else AsyncEmulatorTransport
        http = transport or emulated(self.emulator)
        self.chat = kind(model, http=http, **{"api_key": "fake-key", "retry": NONE, **options})

    def run(self, *steps: Any, stream: bool = False) -> list[Any]:
        """Run the agent with each text; functions are called with the agent in between."""
        options: dict[str, Any] = {"tools": [high_tide], "cache": self.policy}
        results: list[Any] = []
        if self.style == "threads":
            with Agent(self.chat, self.system, **options) as agent:
                agent.model._clock = lambda: self.now  # type: ignore[attr-defined]
                for step in steps:
                    results.append(
                        step(agent) if callable(step) else agent.run(step, stream=stream)
                    )
            return results

        async def main() -> None:
            async with LLMAgent(self.chat, self.system, **options) as agent:
                agent.model._clock = lambda: self.now  # type: ignore[attr-defined]
                for step in steps:
                    results.append(
                        step(agent) if callable(step) else await agent.run(step, stream=stream)
                    )

        anyio.run(main, backend=self.style)
        return results

    def later(self, seconds: float) -> Callable[[Any], None]:
        def move(agent: Any) -> None:
            self.now += seconds

        return move

    def lose(self, agent: Any) -> None:
        name = agent.model.cache.name
        self.emulator.answer("DELETE", f"/v1beta/{name}", {"x-goog-api-key": "fake-key"}, b"")

    @property
    def asked(self) -> list[str]:
        return asked(self.emulator)

    @property
    def sent(self) -> list[Any]:
        """The bodies of the requests to the model."""
        return [
            each["body"] for each in self.emulator.requests if "enerateContent" in each["target"]
        ]


def told(result: Any) -> list[Note]:
    """The notes on the cache in the replies of a run."""
    notes = [note for step in result.steps for note in step.reply.notes]
    return [note for note in notes if note.path.startswith("contextCache")]


@pytest.fixture(params=["threads", "asyncio", "trio"])
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.row("S3-27", "S3-28")
@pytest.mark.parametrize("stream", [False, True], ids=["ask", "stream"])
def test_an_agent_with_a_cache_in_one_object(style: str, stream: bool) -> None:
    """Created before the first request, refreshed at half its time, deleted at the end."""
    cached = Cached(style, [{"say": {"calls": [CALL]}}, {"say": "At 17:40."}, {"say": "Bye."}])
    first, _, second = cached.run("When?", cached.later(301), "Thanks.", stream=stream)
    assert (first.text, second.text) == ("At 17:40.", "Bye.")
    assert [run.result.answer for run in first.runs] == [{"result": "17:40"}]
    assert told(first) == told(second) == []
    name = cached.sent[0]["cachedContent"].rpartition("/")[2]
    verb = f"POST {MODEL}:{'streamGenerateContent' if stream else 'generateContent'}"
    assert cached.asked == [
        f"POST {MODEL}:countTokens",
        "POST cachedContents",
        verb,
        verb,
        f"PATCH {name}",
        verb,
        f"DELETE {name}",
    ]
    made = cached.emulator.requests[1]["body"]
    assert made["systemInstruction"] == {"parts": [{"text": SYSTEM}]}
    assert [each["name"] for each in made["tools"][0]["functionDeclarations"]] == ["high_tide"]
    assert (made["ttl"], made["displayName"]) == ("600s", "tides")
    assert [set(body) for body in cached.sent] == [{"contents", "cachedContent", "store"}] * 3


@pytest.mark.row("S3-29")
@pytest.mark.parametrize("stream", [False, True], ids=["ask", "stream"])
def test_an_agent_whose_cache_is_lost_sends_everything_and_makes_it_anew(
    style: str, stream: bool
) -> None:
    cached = Cached(style)
    _, _, second, third = cached.run("Hi", cached.lose, "And now?", "And then?", stream=stream)
    assert ["systemInstruction" in body for body in cached.sent] == [False, False, True, False]
    assert [note.path for note in told(second)] == ["contextCache.use"]
    assert told(third) == []
    assert cached.asked.count("POST cachedContents") == 2


def test_a_cache_that_expired_between_two_runs_is_made_anew_at_once(style: str) -> None:
    cached = Cached(style)
    _, _, _, second = cached.run("Hi", cached.lose, cached.later(9999), "And now?")
    assert ["cachedContent" in body for body in cached.sent] == [True, True]
    assert [note.path for note in told(second)] == ["contextCache.refresh"]


def test_another_tool_is_another_cache_and_the_old_one_is_deleted(style: str) -> None:
    cached = Cached(style)
    cached.run("Hi", lambda agent: agent.register_tool(next_tide), "And now?")
    kinds = [line.partition(" ")[0] for line in cached.asked if "enerate" not in line]
    assert kinds == ["POST", "POST", "DELETE", "POST", "POST", "DELETE"]
    tools = [
        len(each["body"]["tools"][0]["functionDeclarations"])
        for each in cached.emulator.requests
        if each["method"] == "POST" and each["target"].endswith("/cachedContents")
    ]
    assert tools == [1, 2]


@pytest.mark.row("S3-26")
def test_a_cache_that_is_not_made_is_reported_in_the_reply_once(style: str) -> None:
    cached = Cached(style, system="Be brief.")
    first, second = cached.run("Hi", "And now?")
    assert [note.path for note in told(first)] == ["contextCache"]
    assert told(first)[0].message.endswith(" tokens; the minimum is 1024")
    assert told(second) == []
    assert cached.asked.count(f"POST {MODEL}:countTokens") == 1
    assert ["systemInstruction" in body for body in cached.sent] == [True, True]


def test_a_refused_cache_is_reported_and_tried_again_if_that_can_help(style: str) -> None:
    """A busy server may have time later; a beginning that is too short for a model stays so."""
    server = Vertex(1)
    cached = Cached(style, **server.options)
    first, _, second, _, third = cached.run("1", cached.later(59), "2", cached.later(1), "3")
    assert [note.path for note in told(first)] == ["contextCache.create"]
    assert "overloaded" in told(first)[0].message
    assert (told(second), told(third)) == ([], [])
    bodies = [body for line, body in server.requests if line.endswith(":generateContent")]
    assert ["cachedContent" in body for body in bodies] == [False, False, True]
    short = Cached(style, system="Be brief.", policy=CachePolicy(ttl=600, least=1))
    first, _, second = short.run("1", short.later(9999), "2")
    assert ["too small" in str(note) for note in told(first)] == [True]
    assert told(second) == []
    assert short.asked.count("POST cachedContents") == 1


UNSUPPORTED = "Model gemini-2.5-flash is not found, or is not supported for createCachedContent."
REFUSALS = ((400, "INVALID_ARGUMENT"), (403, "PERMISSION_DENIED"), (404, "NOT_FOUND"))


@joined("provider", ["gemini", "gemini@vertex"])
@joined(("status", "word"), REFUSALS)
def test_a_cache_that_the_server_refuses_is_told_and_used_when_it_is_there(
    style: str, provider: str, status: int, word: str
) -> None:
    """After `ttl`, then after twice as long. The notes tell each refusal once, with the wait."""
    server = Vertex(2, status, word, UNSUPPORTED)
    options = server.options if "@" in provider else {"transport": server.options["transport"]}
    cached = Cached(style, **options)
    steps = ("1", cached.later(599), "2", cached.later(1), "3", cached.later(1199), "4")
    runs = cached.run(*steps, cached.later(1), "5", "6")
    notes = [[str(note) for note in told(each)] for each in runs if each is not None]
    named = f"contextCache.create: {provider}: {status} {word}: {UNSUPPORTED}; tried again in"
    assert notes == [[f"{named} 600 s"], [], [f"{named} 1200 s"], [], [], []]
    bodies = [body for line, body in server.requests if line.endswith(":generateContent")]
    assert ["cachedContent" in body for body in bodies] == [False] * 4 + [True] * 2
    assert ["systemInstruction" in body for body in bodies] == [True] * 4 + [False] * 2


@pytest.mark.parametrize("provider", ["gemini", "gemini@vertex"])
def test_an_agent_names_a_cache_that_exists(style: str, provider: str) -> None:
    """The server refuses a request with a system prompt or tools beside a cache (G62)."""
    emulator = Emulator([{"say": {"calls": [CALL]}}, {"say": "At 17:40."}])
    where: dict[str, Any] = {"api_key": "fake-key"}
    if "@" in provider:
        where = {"project": "p", "location": "global", "token": lambda: "fake-token"}
    model = f"{provider}:{MODEL}"
    beginning = gemini.contents(SYSTEM)[0]
    tools = [gemini.Tool(function_declarations=[gemini.FunctionDeclaration(name="high_tide")])]
    made = gemini.CachedContent(model=MODEL, system_instruction=beginning, tools=tools)
    with Chat(model, http=EmulatorTransport(emulator), **where) as chat:
        name = chat.client.send(gemini.create_cached_content(made)).name
    options = {"options": {"gemini": {"cachedContent": name}}, "caching": "auto", **where}
    if style == "threads":
        chat = Chat(model, http=EmulatorTransport(emulator), **options)
        with Agent(chat, "Be brief.", tools=[high_tide]) as agent:
            result = agent.run("When?")
    else:

        async def main() -> Any:
            http = AsyncEmulatorTransport(emulator)
            async with AsyncChat(model, http=http, **options) as chat:
                return await LLMAgent(chat, "Be brief.", tools=[high_tide]).run("When?")

        result = anyio.run(main, backend=style)
    assert (result.text, [run.result.content for run in result.runs]) == ("At 17:40.", ["17:40"])
    bodies = [each["body"] for each in emulator.requests[1:]]
    kept = ["store"] if "@" not in provider else []
    assert [sorted(body) for body in bodies] == [["cachedContent", "contents", *kept]] * 2
    assert all(step.reply.usage.cached > 2000 for step in result.steps)
    assert [note.path for note in result.reply.notes] == ["system", "tools"]


class Vertex:
    """A server with one cache, which it refuses to make `times` times."""

    def __init__(
        self,
        times: int = 0,
        status: int = 503,
        word: str = "UNAVAILABLE",
        message: str = "overloaded",
    ) -> None:
        self.requests: list[tuple[str, Any]] = []
        self._times = times
        self._error: dict[str, Any] = {"code": status, "message": message, "status": word}
        self.options: dict[str, Any] = {
            "model": f"gemini@vertex:{MODEL}",
            "transport": httpx.MockTransport(self.answer),
            "project": "my-project",
            "location": "global",
        }

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/v1beta1/")
        self.requests.append((f"{request.method} {path}", json.loads(request.content or b"{}")))
        if path.endswith(":countTokens"):
            return httpx.Response(200, json={"totalTokens": 5000})
        if path.endswith("/cachedContents") and self._times:
            self._times -= 1
            return httpx.Response(self._error["code"], json={"error": self._error})
        if "cachedContents" in path:
            return httpx.Response(200, json={"name": f"{PARENT}/cachedContents/77"})
        content = {"role": "model", "parts": [{"text": "Hello."}]}
        return httpx.Response(
            200, json={"candidates": [{"content": content, "finishReason": "STOP"}]}
        )


def test_on_vertex_the_full_name_of_the_model_is_made(style: str) -> None:
    server = Vertex()
    Cached(style, **server.options).run("Hi")
    model = f"{PARENT}/publishers/google/models/{MODEL}"
    assert [line for line, _ in server.requests] == [
        f"POST {model}:countTokens",
        f"POST {PARENT}/cachedContents",
        f"POST {model}:generateContent",
        f"DELETE {PARENT}/cachedContents/77",
    ]
    assert server.requests[1][1]["model"] == model
    assert server.requests[2][1]["cachedContent"] == f"{PARENT}/cachedContents/77"


@pytest.mark.row("S3-21")
def test_what_is_no_policy_and_what_has_no_caches() -> None:
    chat = AsyncChat("deepseek:deepseek-chat", api_key="fake-key")
    with pytest.raises(ConfigurationError, match=r"^cache: deepseek has no context caches; "):
        LLMAgent(chat, cache=CachePolicy())
    gemini_chat = AsyncChat(f"gemini:{MODEL}", api_key="fake-key")
    with pytest.raises(
        ConfigurationError, match=r"^cache: expected a CachePolicy or None, not int"
    ):
        LLMAgent(gemini_chat, cache=600)  # type: ignore[arg-type]
    with pytest.raises(RuleError, match=r"ttl: expected a positive number"):
        CachePolicy(ttl=0)
    with pytest.raises(ConfigurationError, match=r"^display_name: expected a text that is not"):
        CachePolicy(display_name=" ")
    with pytest.raises(ConfigurationError, match=r"^least: expected a number of tokens"):
        CachePolicy(least=-1)
