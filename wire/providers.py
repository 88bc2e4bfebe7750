"""Who can be asked: one row for each provider, data only. A provider that speaks a known wire is one row and one fixture."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    """Name, wire, where it lives and how it wants its key. `{...}` in `base_url` and `prefix` are options of the client."""

    name: str
    wire: str
    base_url: str
    prefix: str
    """Comes between base URL and the path of a call; a call's path does not name the version."""
    key_variable: str
    """Environment variable that is asked when no `api_key` was given."""
    key_header: str
    key_scheme: str = ""
    """What stands in the header before the key."""
    version: str = ""
    """Default of the option `version`."""
    options: tuple[str, ...] = ()
    """Options that must be given."""


PROVIDERS: dict[str, Provider] = {
    row.name: row
    for row in (
        Provider(
            "gemini",
            wire="gemini",
            base_url="https://generativelanguage.googleapis.com",
            prefix="/{version}",
            key_variable="GEMINI_API_KEY",
            key_header="x-goog-api-key",
            version="v1beta",
        ),
        # A bearer token from a callback, or an express-mode API key (gemini.md section 1).
        Provider(
            "gemini@vertex",
            wire="gemini",
            base_url="https://{host}aiplatform.googleapis.com",
            prefix="/{version}/projects/{project}/locations/{location}/publishers/google",
            key_variable="GOOGLE_API_KEY",
            key_header="x-goog-api-key",
            version="v1beta1",
            options=("project", "location"),
        ),
    )
}
