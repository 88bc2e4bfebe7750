"""Reads an invoice and a photo with three vendors: `python invoice.py invoice.pdf photo.png`."""

import sys
from decimal import Decimal

from msgspec import Struct

from wire import Chat, Media


class Item(Struct):
    name: str
    price: Decimal


class Invoice(Struct):
    vendor: str
    total: Decimal
    currency: str
    items: list[Item]


for model in ("gemini:gemini-3.8-flash", "openai:gpt-5.4", "anthropic:claude-sonnet-5"):
    with Chat(model) as chat:
        reply = chat.ask(["What does it say?", *map(Media.file, sys.argv[1:])], output=Invoice)
    print(model, reply.output)
