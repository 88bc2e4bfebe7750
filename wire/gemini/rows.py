"""Hosts of Gemini's wire: the Gemini API and Vertex AI.

Sources and dates of the facts: docs/providers.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wire.core.provider import Provider, ProviderNames
from wire.gemini.dialect import Dialect

ROWS: tuple[Provider, ...] = (
    Provider(
        "gemini",
        wire="gemini",
        base_url="https://generativelanguage.googleapis.com",
        prefix="/{version}",
        prefixes={"ws": ""},
        key_variable="GEMINI_API_KEY",
        other_key_variable="GOOGLE_API_KEY",
        other_base_url_variable="GOOGLE_GEMINI_BASE_URL",
        key_header="x-goog-api-key",
        version="v1beta",
        dialect=Dialect(
            api="gemini",
            decisions="map",
            server_tools=(
                ("googleSearch", ""),
                ("codeExecution", ""),
                ("urlContext", ""),
                ("fileSearch", ""),
            ),
        ),
    ),
    # A bearer token from a callback, or an express-mode API key (gemini.md section 1).
    Provider(
        "gemini@vertex",
        wire="gemini",
        base_url="https://{location}-aiplatform.googleapis.com",
        base_urls={
            "location=global": "https://aiplatform.googleapis.com",
            "location=us": "https://aiplatform.us.rep.googleapis.com",
            "location=eu": "https://aiplatform.eu.rep.googleapis.com",
        },
        prefix="/{version}/projects/{project}/locations/{location}/publishers/google",
        key_variable="GOOGLE_API_KEY",
        key_header="x-goog-api-key",
        version="v1beta1",
        options=("project", "location"),
        option_variables={
            "project": ("GOOGLE_CLOUD_PROJECT",),
            "location": ("GOOGLE_CLOUD_LOCATION",),
        },
        auth=("google",),
        other_base_url_variable="GOOGLE_VERTEX_BASE_URL",
        hosts=("aiplatform.googleapis.com", "*.googleapis.com"),
        prefixes={
            "projects": "/{version}",  # a full name, as answers have it
            "publishers": "/{version}/projects/{project}/locations/{location}",
            "cachedContents": "/{version}/projects/{project}/locations/{location}",
            "ws": "",
        },
        dialect=Dialect(
            api="vertex",
            server_tools=(("googleSearch@vertex", ""), ("codeExecution", ""), ("urlContext", "")),
        ),
    ),
)

provider_row: Callable[[Provider | str], Provider] = ProviderNames("gemini", ROWS, Dialect()).row

endpoint_paths: re.Pattern[str] = re.compile(
    r"(/(?P<version>v1(alpha|beta\d*)?)"
    r"(/projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)(/publishers/google)?)?"
    r"(/models(/[^/]+)?)?"
    r"|/models/[^/]+:[^/]+)/*$",
    re.IGNORECASE,
)
"""Matches the version, and the path of an endpoint, at the end of a base URL: calls add them. The
groups are options of the client.
"""
