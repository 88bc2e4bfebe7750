"""Tokens and signed requests over sockets: the client's own connections, and botocore's."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import anyio
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

import wire.errors
from tests.auth.servers import MODEL, call, request
from tests.auth.test_aws import ASSUMED
from tests.auth.test_signed_calls import ARN
from tests.http.drive import EVERY, Drive
from wire import AsyncClient, Client, Timeouts, anthropic
from wire.auth import AwsWebIdentity, SigV4
from wire.testing.emulator import Emulator, serve


class Sts(BaseHTTPRequestHandler):
    """A server of tokens on loopback: what it answers by its path."""

    asked: ClassVar[list[tuple[str, bytes]]] = []
    release: ClassVar[Any] = None
    arrived: ClassVar[Any] = None

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.asked.append((self.path, body))
        self.arrived.set()
        answer = ASSUMED.encode()
        if self.path == "/large":
            answer = b"a" * 2_000_000
        if self.path == "/silent":
            self.server.closing.wait(20)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        try:
            self.wfile.write(answer)
        except OSError:
            pass  # a client that reads no more

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def sts() -> Iterator[str]:
    Sts.asked, Sts.arrived = [], threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sts)
    server.closing = threading.Event()  # type: ignore[attr-defined]
    Sts.release = server.closing.set  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.closing.set()  # type: ignore[attr-defined]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def identity(tmp_path: Path) -> AwsWebIdentity:
    (tmp_path / "token").write_text("fake-identity-token")
    return AwsWebIdentity("arn:aws:iam::123456789012:role/reader", str(tmp_path / "token"))


@pytest.mark.parametrize("drive", EVERY)
def test_a_role_and_a_signed_call(
    drive: Drive, sts: str, identity: AwsWebIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"{sts}/")
    with serve(Emulator()) as server:
        answers = drive.session(
            lambda door: [door.send(call(model)) for model in (MODEL, ARN)],
            "bedrock@invoke",
            api_key=None,
            region="us-west-2",
            base_url=server.url,
            credentials=identity,
        )
    assert ["Hi" in each.content[0].text for each in answers] == [True, True]
    assert len(Sts.asked) == 1


def test_an_answer_that_is_too_large(
    sts: str, identity: AwsWebIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"{sts}/large")
    with (
        Client("bedrock@invoke", region="us-west-2", credentials=identity) as client,
        pytest.raises(wire.errors.LimitError),
    ):
        client.send(call())


@pytest.mark.parametrize("drive", EVERY)
def test_a_server_that_says_nothing_ends_with_the_call(
    drive: Drive, sts: str, identity: AwsWebIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"{sts}/silent")
    with pytest.raises(wire.errors.ClockError, match=r"credentials: STS"):
        drive.session(
            lambda door: door.send(call()),
            "bedrock@invoke",
            api_key=None,
            region="us-west-2",
            credentials=identity,
            timeouts=Timeouts(total=0.3),
        )


SHORT = call().replace(timeouts=Timeouts(total=0.2))
WAITED = "the call waited for its credentials"


def test_a_call_waits_for_the_exchange_of_another_within_its_own_time(
    sts: str, identity: AwsWebIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"{sts}/silent")
    client = Client(
        "bedrock@invoke",
        region="us-west-2",
        credentials=identity,
        retry=None,
        base_url="http://127.0.0.1:1",
    )

    def fails() -> None:
        with pytest.raises(wire.errors.ConnectionLost):
            client.send(call())

    first = threading.Thread(target=fails)
    first.start()
    Sts.arrived.wait(20)
    with pytest.raises(wire.errors.TotalClock, match=WAITED):
        client.send(SHORT)
    Sts.release()
    first.join()
    client.close()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_task_waits_for_the_exchange_of_another_within_its_own_time(
    backend: str, sts: str, identity: AwsWebIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"{sts}/silent")

    async def main() -> None:
        async with (
            AsyncClient("bedrock@invoke", region="us-west-2", credentials=identity) as client,
            anyio.create_task_group() as group,
        ):
            group.start_soon(client.send, call())
            await anyio.to_thread.run_sync(Sts.arrived.wait, 20)
            with pytest.raises(wire.errors.TotalClock, match=WAITED):
                await client.send(SHORT)
            group.cancel_scope.cancel()

    anyio.run(main, backend=backend)


def boto(url: str, secret: str = "fake-secret-key") -> Any:
    return botocore.session.Session().create_client(
        "bedrock-runtime",
        region_name="us-west-2",
        endpoint_url=url,
        aws_access_key_id="fake-access-key",
        aws_secret_access_key=secret,
        config=Config(retries={"max_attempts": 0}),
    )


BODY = json.dumps(
    {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi"}],
    }
)


@pytest.mark.parametrize("model", [MODEL, ARN])
def test_botocore_is_served(model: str) -> None:
    with serve(Emulator()) as server:
        answer = boto(server.url).invoke_model(modelId=model, body=BODY)
        assert "emulator" in json.loads(answer["body"].read())["content"][0]["text"]
        stream = boto(server.url).invoke_model_with_response_stream(modelId=model, body=BODY)
        assert len(list(stream["body"])) > 3
        with pytest.raises(ClientError) as refused:
            boto(server.url, "another").invoke_model(modelId=model, body=BODY)
    error = refused.value.response
    assert error["Error"]["Code"] == "InvalidSignatureException"
    assert error["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_botocore_signs_what_we_send_as_we_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole request of a client, as it goes over the wire, signed by both."""
    import datetime

    import botocore.auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    from tests.auth.servers import Servers

    servers = Servers()
    keys = SigV4("fake-access-key", "fake-secret-key", "fake-session-token")
    for model in (MODEL, ARN, "anthropic.claude-opus-4-8"):
        with Client("bedrock@invoke", region="us-west-2", credentials=keys, http=servers) as client:
            client.send(anthropic.create_message(request(model, "Grüße, \N{WAVING HAND SIGN}")))
        sent = servers.sent[-1]
        ours = sent.headers["authorization"]
        signed = ours.partition("SignedHeaders=")[2].partition(",")[0].split(";")
        date = sent.headers["x-amz-date"]
        moment = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
        monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda now=moment: now)
        theirs = AWSRequest(
            sent.method,
            str(sent.url),
            {name: sent.headers[name] for name in signed if name != "x-amz-security-token"},
            sent.content,
        )
        credentials = Credentials("fake-access-key", "fake-secret-key", "fake-session-token")
        botocore.auth.SigV4Auth(credentials, "bedrock", "us-west-2").add_auth(theirs)
        assert theirs.headers["Authorization"] == ours
