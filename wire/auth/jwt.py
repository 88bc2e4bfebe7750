"""Signed tokens (RFC 7519) with a private key, by the package `cryptography` of an extra."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from wire.core.errors import ConfigurationError
from wire.core.secret import Secret


def encoded(data: bytes) -> str:
    """Return bytes in base64 for URLs, without padding.

    >>> encoded(b"a?>")
    'YT8-'
    """
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def private_key(pem: Secret, what: str, password: Secret | None = None) -> Any:
    """Return the RSA key of a PEM.

    Raises `ConfigurationError` for what is none, and without `cryptography`.
    """
    serialization = _serialization()
    try:
        secret = None if password is None else password.reveal().encode()
        key = serialization.load_pem_private_key(pem.reveal().encode(), secret)
    except (ValueError, TypeError, UnicodeEncodeError):
        # Its frames have the key.
        key = None
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    if not isinstance(key, RSAPrivateKey):
        raise ConfigurationError(f"credentials: {what} has no RSA private key that can be read")
    return key


def signed_token(
    key: Any, header: Mapping[str, Any], claims: Mapping[str, Any], algorithm: str
) -> Secret:
    """Return a token that is signed by an RSA key: `RS256` or `PS256`."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    parts = ({"typ": "JWT", "alg": algorithm, **header}, claims)
    text = ".".join(encoded(msgspec.json.encode(each)) for each in parts)
    chosen: Any = padding.PKCS1v15()
    if algorithm == "PS256":
        chosen = padding.PSS(padding.MGF1(hashes.SHA256()), hashes.SHA256().digest_size)
    signature = key.sign(text.encode(), chosen, hashes.SHA256())
    return Secret.unchecked(f"{text}.{encoded(signature)}")


def thumbprint(pem: bytes, what: str) -> str:
    """Return the SHA-256 of the certificate in a PEM, as a header of tokens has it."""
    _serialization()
    import hashlib

    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    try:
        certificate = x509.load_pem_x509_certificate(pem)
    except ValueError:
        raise ConfigurationError(f"credentials: {what} has no certificate") from None
    return encoded(hashlib.sha256(certificate.public_bytes(Encoding.DER)).digest())


def _serialization() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError:
        raise ConfigurationError(
            "credentials: a private key needs cryptography: pip install 'wire-llm[cloud]'"
        ) from None
    return serialization
