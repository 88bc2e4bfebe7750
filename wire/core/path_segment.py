"""Checks what stands in the path of a call: ids and models of the caller."""

from __future__ import annotations

from wire.core.bounds import BOUNDS
from wire.core.credentials import known_credential
from wire.core.errors import ConfigurationError
from wire.core.lazy import lazy_pattern
from wire.core.secret import quoted

_ARN = lazy_pattern(
    r"arn:aws[a-z-]*:(bedrock|sagemaker):(?P<region>[a-z0-9-]+):(\d{12})?:[a-z-]+/[\w./:-]+"
)
_UNSENDABLE = lazy_pattern("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def path_segment(parameter: str, name: object, example: str, *, parts: bool = False) -> str:
    """Return a name as one segment of a path, or with `parts` as several between slashes.

    >>> path_segment("id", "a/b", "resp_1")
    Traceback (most recent call last):
    wire.errors.ConfigurationError: id: expected a name such as resp_1, not 'a/b'

    A name with a control character, half of a surrogate pair or a segment of dots would name
    another path, or none. A key is refused, since URLs are logged (R-27).
    """
    if isinstance(name, str) and len(name) > BOUNDS.path_segment:
        problem = f"{len(name):,} characters, more than {BOUNDS.path_segment}"
        raise ConfigurationError(f"{parameter}: {problem}: expected a name such as {example}")
    if (
        not isinstance(name, str)
        or not all(each.strip(". ") for each in (name.split("/") if parts else [name]))
        or ("/" in name and not parts)
        or "%2f" in name.lower()  # an escaped slash, which `Call.target` keeps
        or _UNSENDABLE().search(name)
        or known_credential(name)
    ):
        raise ConfigurationError(
            f"{parameter}: expected a name such as {example}, not {quoted(name)}"
        )
    return name


def model_segment(model: object, example: str) -> str:
    """Return the name of a model at AWS as one segment of a path; it may be an ARN.

    >>> model_segment("arn:aws:bedrock:us-east-1::foundation-model/a.b-v1:0", "anthropic.claude")
    'arn:aws:bedrock:us-east-1::foundation-model%2Fa.b-v1:0'

    Raises `ConfigurationError` for an ARN that is malformed.
    """
    name = path_segment("model", model, example, parts=True)
    if name.startswith("arn:") and _ARN().fullmatch(name) is None:
        form = "arn:aws:bedrock:REGION:ACCOUNT:KIND/ID"
        raise ConfigurationError(f"model: expected an ARN {form}, not {quoted(name)}")
    return name.replace("/", "%2F")


def refuse_other_region(path: str, region: str) -> None:
    """Raise `ConfigurationError` for a path with the ARN of a model of another region.

    >>> refuse_other_region("/model/arn:aws:bedrock:us-east-1::foundation-model%2Fa", "us-west-2")
    Traceback (most recent call last):
    wire.errors.ConfigurationError: model: 'arn:aws:bedrock:us-east-1::foundation-model/a' is in \
us-east-1, and region= is us-west-2
    """
    for segment in path.split("/"):
        arn = _ARN().fullmatch(segment.replace("%2F", "/"))
        if arn is not None and arn["region"] != region:
            raise ConfigurationError(
                f"model: {quoted(arn[0])} is in {arn['region']}, and region= is {region}"
            )
