"""The command line of the conformance runner."""

from __future__ import annotations

import sys

from tests.conformance import (
    citations,
    corpus,
    failures,
    layouts,
    quirks,
    recordings,
    requests,
    seeds,
)

COMMANDS = {
    "citations": citations.run,
    "corpus": corpus.run,
    "quirks": quirks.run,
    "failures": failures.run,
    "layouts": layouts.run,
    "recordings": recordings.run,
    "requests": requests.run,
    "seeds": seeds.run,
}


def main(arguments: list[str]) -> int:
    if (
        not arguments
        or arguments[0] not in COMMANDS
        or (len(arguments) < 2 and arguments[0] != "seeds")
    ):
        print(
            "usage: python -m tests.conformance "
            "citations|corpus|quirks|failures|layouts|recordings|requests PATH..., "
            "or seeds [S0 S1 ...]; corpus --every-cut PATH...",
            file=sys.stderr,
        )
        return 2
    result = COMMANDS[arguments[0]](arguments[1:])
    print(result.line())
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
