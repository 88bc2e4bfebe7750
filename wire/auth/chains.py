"""The chains and the sources that `credentials=` takes by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wire.auth.credential import Chain, Credential
from wire.core.errors import ConfigurationError
from wire.core.secret import quoted


def _aws() -> Chain:
    from wire.auth.aws import aws_chain

    return aws_chain()


def _google() -> Chain:
    from wire.auth.google import google_chain

    return google_chain()


def _entra() -> Chain:
    from wire.auth.entra import entra_chain

    return entra_chain()


def _anthropic() -> Chain:
    from wire.auth.workload import anthropic_chain

    return anthropic_chain()


_CHAINS: dict[str, Callable[[], Chain]] = {
    "aws": _aws,
    "google": _google,
    "entra": _entra,
    "anthropic": _anthropic,
}
"""Name of a chain, as rows have it, to the function that makes it: only one of them is loaded."""


def chain_of(name: str) -> Chain:
    """Return a chain by its name.

    >>> [source.name for source in chain_of("aws").sources]
    ['environment', 'web-identity', 'profile', 'container', 'metadata']
    """
    return _CHAINS[name]()


def first_of(names: Iterable[str]) -> Credential | None:
    """Return the chain of a row, or one of all its chains; `None` without any."""
    chains = [chain_of(name) for name in names if name in _CHAINS]
    if len(chains) < 2:
        return next(iter(chains), None)
    sources = tuple(source for chain in chains for source in chain.sources)
    remedies = "; or ".join(chain.remedy for chain in chains)
    return Chain(" or ".join(chain.title for chain in chains), sources, remedies)


def named(given: Any) -> Credential:
    """Return what `credentials=` names: a chain, or one source of it, such as `aws:profile`.

    Raises `ConfigurationError` for an unknown name.
    """
    chain, _, source = str(given).partition(":")
    if chain in _CHAINS:
        found = chain_of(chain)
        if not source:
            return found
        for each in found.sources:
            if each.name == source:
                return Chain(f"{found.title} ({source})", (each,))
        known = ", ".join(f"{chain}:{each.name}" for each in found.sources)
    else:
        known = ", ".join(_CHAINS)
    raise ConfigurationError(
        f"credentials: {quoted(given)} is no source; expected one of {known}, or a credential of "
        "wire.auth"
    )
