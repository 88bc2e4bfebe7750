"""One process of a bulk run, which may be killed: `python -m tests.bulk.driver IN OUT URL`.

The options after these are JSON with arguments of `wire.bulk.run`; `output` is the name of a
type, as `module:name`. It prints the figures of the run as JSON.
"""

from __future__ import annotations

import asyncio
import json
import pkgutil
import sys

from wire import bulk

MODEL = "openai@chat:gpt-5.4"


async def main() -> None:
    rows, to, url, *options = sys.argv[1:]
    given = {"model": MODEL, **json.loads(options[0] if options else "{}")}
    if "output" in given:
        given["output"] = pkgutil.resolve_name(given["output"])
    run = bulk.run(rows, given.pop("model"), to=to, base_url=url, api_key="fake-key", **given)
    progress = await run.finish()
    print(json.dumps(progress.summary(), default=str))


if __name__ == "__main__":
    asyncio.run(main())
