"""Signatures of AWS: the published vectors, and botocore as the judge of random requests."""

import datetime
import json
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from wire.auth import SigV4
from wire.auth.credential import Place, Unsent
from wire.auth.signing import (
    Scope,
    Unsigned,
    authorization,
    body_hash,
    canonical_request,
    moment_of,
    text_to_sign,
)

SUITE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "fixtures/auth/sigv4.json").read_text()
)
VECTORS: list[dict[str, Any]] = SUITE["vectors"]
SCOPE = Scope(moment_of(SUITE["seconds"]), SUITE["region"], SUITE["service"])


def unsigned_of(vector: dict[str, Any]) -> Unsigned:
    headers = [(name, value) for name, value in vector["headers"]]
    if token := vector.get("token"):
        headers.append(("X-Amz-Security-Token", token))
    body = vector.get("body", "").encode()
    return Unsigned(vector["method"], vector["target"], headers, body_hash(body))


def test_there_are_34_vectors() -> None:
    assert len(VECTORS) == 34


@pytest.mark.parametrize("vector", VECTORS, ids=[each["name"] for each in VECTORS])
def test_a_published_vector(vector: dict[str, Any]) -> None:
    request = unsigned_of(vector)
    canonical = canonical_request(request, SUITE["service"])
    assert canonical == vector["canonical"]
    assert text_to_sign(canonical, SCOPE) == vector["to_sign"]
    signed = authorization(request, SCOPE, SUITE["key_id"], SUITE["secret"])
    assert signed == vector["authorization"]


TEXT = "abcXYZ019-_.~ /:%+é&=;,()'*!@$"


def random_request(dice: random.Random) -> tuple[str, str, list[tuple[str, str]], bytes]:
    def word(most: int) -> str:
        return "".join(dice.choice(TEXT) for _ in range(dice.randint(1, most)))

    path = "/" + "/".join(quote(word(9), safe="") for _ in range(dice.randint(0, 5)))
    path = path.replace("%3A", ":") + "/" * dice.randint(0, 1)
    names = dice.sample(["a", "b", "A", "api-version", "é x", "d/e"], dice.randint(0, 3))
    query = "&".join(f"{quote(name, safe='')}={quote(word(6), safe='')}" for name in names)
    headers = [("Host", "bedrock-runtime.us-east-1.amazonaws.com")]
    for name in ("content-type", "x-amz-thing", "Accept", "user-agent", "x-Amzn-Trace-Id"):
        if dice.random() < 0.5:
            headers.append((name, f" {dice.choice(['a', 'B  c', 'x,y'])} "))
    return (
        dice.choice(["GET", "POST"]),
        f"{path}?{query}" if query else path,
        headers,
        (dice.randbytes(dice.randint(0, 200))),
    )


def test_botocore_signs_a_thousand_random_requests_as_we_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moment = datetime.datetime(2026, 11, 29, 8, 0, 1, tzinfo=datetime.UTC)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: moment)
    scope = Scope(moment_of(moment.timestamp()), "eu-west-1", "bedrock")
    dice = random.Random(417)
    for _ in range(1000):
        method, target, headers, body = random_request(dice)
        token = "fake-session-token" if dice.random() < 0.3 else None
        theirs = AWSRequest(
            method, f"https://bedrock-runtime.us-east-1.amazonaws.com{target}", dict(headers), body
        )
        judge = botocore.auth.SigV4Auth(
            Credentials("fake-access-key", "fake-secret-key", token), scope.service, scope.region
        )
        judge.add_auth(theirs)
        names = theirs.headers["Authorization"].partition("SignedHeaders=")[2].partition(",")[0]
        signed_names = names.split(";")
        ours = [pair for pair in theirs.headers.items() if pair[0].lower() in signed_names]
        unsigned = Unsigned(method, target, ours, body_hash([body[:7], body[7:]]))
        signed = authorization(unsigned, scope, "fake-access-key", "fake-secret-key")
        assert signed == theirs.headers["Authorization"], (method, target, ours)


def test_no_header_is_signed_that_botocore_leaves_out() -> None:
    names = [*botocore.auth.SIGNED_HEADERS_BLACKLIST, "accept-encoding", "authorization", "accept"]
    headers = [(name, "x") for name in (*names, "host", "content-type", "x-amz-thing")]
    place = Place("bedrock", "https://x.example", "us-east-1", "bedrock")
    request = Unsent("GET", "/", headers, b"")
    signed = dict(SigV4("fake-access-key", "fake-secret-key")._headed(request, place, 0))
    assert "SignedHeaders=content-type;host;x-amz-date;x-amz-thing," in signed["authorization"]


def test_s3_signs_the_path_as_it_is_sent() -> None:
    request = Unsigned("GET", "/a%20b//c", [("host", "x")], body_hash(b""))
    assert canonical_request(request, "s3").split("\n")[1] == "/a%20b//c"
    assert canonical_request(request, "bedrock").split("\n")[1] == "/a%2520b/c"
