"""One process of a bulk run of agents, which may be killed: `python -m tests.bulk.agents_driver`.

Its arguments are the model, the URL of the vendor, the file of the results, the number of rows, and
`batch` or `at once`. Tools write each call to a file beside the results, in one write, before they
begin.
"""

from __future__ import annotations

import json
import os
import sys
import time
from random import Random

import anyio

from tests.bulk.row_agents import prompts
from wire import AsyncChat, LLMAgent, bulk
from wire.core.retry import Retry


async def main(model: str, url: str, to: str, rows: str, way: str) -> None:
    log = os.open(f"{to}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def work(id: str) -> str:
        """Work for a while."""
        os.write(log, f"{id}\n".encode())
        time.sleep(Random(id).choice([0.0, 0.002, 0.01]))
        return f"done:{id}"

    chat = AsyncChat(model, api_key="fake-key", base_url=url, retry=Retry(base=0.01))
    agent = LLMAgent(chat, "Be brief.", tools=[work])
    options = {"batch": True, "every": 0.01} if way == "batch" else {"concurrent": 8}
    run = bulk.run(prompts(int(rows)), agent, to=to, **options)  # type: ignore[arg-type]
    print(json.dumps((await run.finish()).summary(), default=str))


if __name__ == "__main__":
    backend = "trio" if Random(os.getpid()).random() < 0.5 else "asyncio"
    anyio.run(main, *sys.argv[1:], backend=backend)
