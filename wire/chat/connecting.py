"""`connect` of chats, beside their replies."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Unpack

from wire.chat.state import ChatState
from wire.core.arguments import checked_names
from wire.core.stream_block import ForTasks, ForThreads

if TYPE_CHECKING:
    from wire.chat.live import AsyncLiveSession, LiveSession
    from wire.http.aio import AsyncClient
    from wire.http.client import Client
    from wire.neutral.live import LiveOptions


class Connects(ForThreads, ChatState["Client"]):
    """A chat for threads that has live sessions."""

    client: Client

    @checked_names("setting")
    def connect(self, **settings: Unpack[LiveOptions]) -> AbstractContextManager[LiveSession]:
        """Open a live session with the model: texts and sound in both directions at once.

        OpenAI's Realtime, also at Azure and xAI, and Gemini Live; it needs the extra `[live]`. The
        settings of the chat that such sessions have apply: `system`, `tools`, `tool_choice`,
        `max_tokens`, `effort`, `options`, and on Gemini `temperature` and `top_p`.

        ```py no-run
        with Chat("openai:gpt-realtime-2.1", system="Be brief.").connect() as session:
            session.send("What makes the tide?")
            for event in session.events():
                if isinstance(event, MediaDelta):
                    play(event.data)
                elif isinstance(event, Done):
                    break
        ```

        Raises `RuleError` for what the host does not take, before anything is sent.

        Args:
            messages: The conversation before, oldest message first.
            state: Where an earlier session stopped: its `state`. In place of `messages`.
            voice: Name of a voice of the host; by default that of the host.
            language: Language of what is said, such as `en`; by default, the model finds out.
            sound: False if the model writes in place of speaking.
            turns: Who finds the end of the user's speech: the `server`, or the `client` by
                `end_sound`.
            transcripts: Whether the host writes down what the user says. At OpenAI a name chooses
                the model that does.
        """
        from wire.chat.live import live_block, live_conversation  # few chats have one

        return live_block(self.client, live_conversation(self, settings))


class AsyncConnects(ForTasks, ChatState["AsyncClient"]):
    """A chat for asyncio and trio that has live sessions."""

    client: AsyncClient

    @checked_names("setting")
    def connect(
        self, **settings: Unpack[LiveOptions]
    ) -> AbstractAsyncContextManager[AsyncLiveSession]:
        """Open a live session with the model. As `Chat.connect`."""
        from wire.chat.live import async_live_block, live_conversation

        return async_live_block(self.client, live_conversation(self, settings))
