# Written by `python -m tests.faces`.
from wire.chat.chat import AsyncChat as AsyncChat
from wire.chat.chat import Chat as Chat
from wire.chat.stream import AsyncChatStream as AsyncChatStream
from wire.chat.stream import ChatStream as ChatStream
