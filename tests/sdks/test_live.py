"""Google's client for Live and the RealtimeRunner of openai-agents against the emulator, whose
versions stand in `live.txt`. `make test-sdks`.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.sdks.test_sdks import HERE, SAID, VENVS, cases
from wire.testing.emulator import Emulator, serve

SPOKEN = f"{SAID.removesuffix('hi')}(speech)"
WANTED: dict[str, list[Any]] = {
    "live_tools": [
        "ok",
        [
            [["get_weather", {"city": "Paris"}]],
            'Your tool get_weather says {"sky": "sunny"}.',
            True,
            True,
        ],
    ],
    "live_audio": ["ok", [["(speech)", SPOKEN, True]] * 2],
    "live_text": ["ok", SAID],
    "live_vertex": ["ok", [SAID, True]],
    # The tokens of both questions and of the answer between them.
    "live_resumed": ["ok", 26],
    "live_interrupted": [
        "ok",
        [
            ["One two three ", "four five six.", "", "interrupted", ""],
            f"{SAID.removesuffix('hi')}Stop.",
        ],
    ],
    "live_refused": [
        "ok",
        [
            [
                1008,
                "1008 None. models/gemini-3.8-flash is not found for API version v1, or is not "
                "supported for bidiGenerateContent. Call ListModels to se",
            ],
            [1007, "1007 None. API key not valid. Please pass a valid API key."],
            [
                1007,
                "1007 None. * GenerateContentRequest.tools[0].function_declarations[0].parameters"
                ".properties[].type: must be specified when not using o",
            ],
        ],
    ],
    "live_error": [
        "ok",
        [
            [1011, "1011 None. You exceeded your current quota, plea"],
            [1008, "1008 None. Too long."],
        ],
    ],
    "live_goes_away": ["ok", "0.1s"],
    "agent_tools": [
        "ok",
        [
            [["get_weather", "sunny in Paris"]],
            'Your tool get_weather says {"result": "sunny in Paris"}.',
            True,
        ],
    ],
    "agent_error": ["ok", ["error", "Oh."]],
    "agent_interrupted": ["ok", ["interrupt", "cancelled", "completed"]],
}


@pytest.mark.sdks
def test_sessions_of_google_genai_and_openai_agents() -> None:
    with serve(Emulator()) as server:
        python = VENVS / "live" / "bin" / "python"
        assert cases(python, HERE / "drive_live.py", server.url) == WANTED
