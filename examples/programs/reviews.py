"""Judges the reviews of a table: `python reviews.py in.csv out.jsonl`; start it again to go on."""

import sys
from typing import Annotated, Literal

import anyio
from msgspec import Meta, Struct

from wire import WireError, bulk


class Judgement(Struct):
    sentiment: Literal["positive", "negative", "mixed"]
    stars: Annotated[int, Meta(ge=1, le=5)]


async def main(source: str, target: str) -> None:
    run = bulk.run(
        source,
        "gemini:gemini-3.8-flash",
        to=target,
        column="review",
        system="Judge this review of a customer.",
        output=Judgement,
        concurrent=8,
        max_cost=0.5,
    )
    try:
        await run.finish()
    except WireError as error:
        print(f"stopped: {error}")
    print(run.progress)
    for row in bulk.read(run.dead):
        print(f"row {row['row']} failed: {row['error']['message']}")


anyio.run(main, *sys.argv[1:])
