"""Credentials: values that head or sign the attempts of a client.

`credentials=` of a client takes one of them, or the name of a chain or of one of its
sources: `aws`, `google`, `entra`, `anthropic`, `aws:profile`.
Names are imported on first use.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.auth.aws": """
        AwsContainer AwsEnvironment AwsMetadata AwsProfile AwsWebIdentity
    """,
    "wire.auth.callback": "Callback",
    "wire.auth.credential": "Bearer Chain Credential HeaderKey SigV4",
    "wire.auth.entra": """
        EntraCertificate EntraEnvironment EntraManagedIdentity EntraSecret EntraWorkload
    """,
    "wire.auth.google": "GoogleFile GoogleGcloud GoogleMetadata",
    "wire.auth.workload": "AnthropicIdentity OpenAIIdentity",
}

__getattr__, __dir__ = lazy_names("wire.auth", _NAMES)
