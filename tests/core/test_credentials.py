"""Credentials are recognised by their form and by the names of their fields (R-28)."""

from __future__ import annotations

import json
import random
import re
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.joined import joined
from tests.property import examples
from wire.core import credentials
from wire.core.credentials import (
    credential_forms,
    credentials_in,
    hidden,
    hidden_in_url,
    known_credential,
    looks_secret,
    secret_name,
    secret_value,
    secret_variable,
    without_known,
)

FAKE = {
    "openai": "sk-proj-fakefakefake",
    "openai-plain": "sk-canarycanary",
    "anthropic": "sk-ant-api03-fakefake",
    "openrouter": "sk-or-v1-fakefake",
    "cerebras": "csk-fakefakefake",
    "google": "AIzaFakeFakeFakeFake",
    "google-oauth": "ya29.fake-fake-fake",
    "groq": "gsk_fakefakefake",
    "xai": "xai-fakefakefakefakefake",
    "hugging-face": "hf_FakeFakeFakeFakeFake",
    "github": "ghp_FakeFakeFakeFake",
    "github-fine-grained": "github_pat_11FAKE_fakefake",
    "gitlab": "glpat-fakefakefake",
    "aws": "AKIAFAKEFAKEFAKEFAKE",
    "slack": "xoxb-fake-fake-fake",
    "jwt": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJmYWtlIn0.",
    "stripe": "sk_live_fakefakefake",
    "bearer": "Bearer fake-token",
    "basic": "Basic ZmFrZTpmYWtl",
    "slack-hook": "hooks.slack.com/services/T0/B0/fakefakefake",
    "discord-hook": "https://discord.com/api/webhooks/1/fakefakefake",
    "telegram": "123456789:AAFakeFakeFakeFakeFakeFakeFakeFake",
    "supabase": "sb_secret_fakefakefake",
    "vault": "hvs.fakefakefakefakefake",
    "pem": "-----BEGIN RSA PRIVATE KEY-----",
}
ORDINARY = [
    "gemini-3.8-flash",
    "gpt-5.4-mini-2026-03-17",
    "claude-sonnet-4-5-20250929",
    "gemini-2.5-flash-preview-native-audio-dialog",
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
    "Qwen3-235B-A22B-Instruct-2507-FP8-w8a8",
    "DeepSeek-R1-Distill-Qwen-1.5B-GGUF-Q4_K_M",
    "Mixtral-8x22B-v0.1-AWQ-Q4_K_M",
    "accounts/fireworks/models/qwen3-coder-480b-a35b-instruct",
    "us.anthropic.claude-sonnet-4-20250514-v1:0",
    "hf-internal-testing-tiny-random",
    "https://generativelanguage.googleapis.com/v1beta/models",
    "https://my-company-gateway.example.com:8443/openai/v1",
    "projects/my-project/locations/europe-west4/publishers/google",
    "/home/someone/.local/share/virtualenvs/project-2026",
    "getUserByIdAndNameOrFail12",
    "task-runner-for-the-desk",
    "2026-11-22T17:47:19.123456+00:00",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
]


@joined("text", FAKE.values(), ids=FAKE.keys())
def test_keys_of_vendors_are_recognised(text: str):
    assert known_credential(text)
    assert looks_secret(f"x ({text})")
    assert "ake" not in hidden(f"no model {text!r}").replace("***", "")[9:]


FORMS = json.loads((Path(credentials.__file__).parent / "credential_forms.json").read_text("utf-8"))


def test_each_form_has_a_source_and_an_example_that_only_it_explains():
    kinds = {row["kind"] for row in FORMS["forms"]}
    assert len(kinds) > 100
    for row in FORMS["forms"]:
        source = row["source"].partition(":")[0]
        assert source == "https" or FORMS["sources"][source].startswith("https://"), row
        assert re.search("(?i)fake|fa0e", row["example"]), row
        key = row["begins"][0] + row["example"]
        found = [(form.kind, match[0]) for form, match in credentials_in(f"x='{key}'")]
        assert found == [(row["kind"], key)]
        assert len(key) >= row["least"]
        assert without_known(f"no {key}!") == "no ***!"


def test_each_begin_of_a_form_is_found_also_after_signs():
    for row in FORMS["forms"]:
        for begin in row["begins"]:
            for before in ("", *"=/-_:\"' ,.;("):
                assert known_credential(f"{before}{begin}{row['example']}"), (before, begin)


@settings(max_examples=examples(300))
@given(st.sampled_from(credential_forms()).flatmap(lambda form: st.from_regex(form.pattern())))
def test_no_credential_is_too_short_to_be_searched_for(text: str):
    assert known_credential(text)


@joined("text", ORDINARY)
def test_ordinary_texts_are_no_credentials(text: str):
    assert not looks_secret(text)
    assert hidden(f"no model {text!r}") == f"no model {text!r}"


@joined(
    ("letters", "length", "least"),
    [
        (string.ascii_letters + string.digits, 32, 0.97),
        (string.ascii_letters + string.digits, 20, 0.9),
        (string.ascii_letters + string.digits + "-_", 43, 0.97),
        ("0123456789abcdef", 32, 0.98),
        (string.ascii_lowercase + string.digits, 24, 0.9),
    ],
    ids=["base62", "short", "base64url", "hex", "base36"],
)
def test_random_keys_are_recognised(letters: str, length: int, least: float):
    dice = random.Random(7)
    keys = ["".join(dice.choices(letters, k=length)) for _ in range(2000)]
    assert sum(map(looks_secret, keys)) / 2000 > least


@joined(
    ("url", "shown"),
    [
        ("https://me:pw@host/p", "https://***@host/p"),
        ("https://fake@host/p", "https://***@host/p"),
        ("https://h/p?alt=sse&key=k1&x=%20a", "https://h/p?alt=sse&key=***&x=%20a"),
        ("/p?access_token=a&sig=b", "/p?access_token=***&sig=***"),
        ("/p?X-Goog-Signature=a&X-Amz-Signature=b", "/p?X-Goog-Signature=***&X-Amz-Signature=***"),
        (
            "/p?X-Amz-Credential=a&x-amz-security-token=b",
            "/p?X-Amz-Credential=***&x-amz-security-token=***",
        ),
        ("/p?%6bey=k1", "/p?%6bey=***"),
        ("/p?q=sk-proj-fakefake", "/p?q=***"),
        ("/p?pageToken=eyJhIjoxfQ12345&maxTokens=3", "/p?pageToken=eyJhIjoxfQ12345&maxTokens=3"),
        ("https://h/p?limit=2", "https://h/p?limit=2"),
    ],
)
def test_credentials_in_urls_are_hidden(url: str, shown: str):
    assert hidden_in_url(url) == shown


@joined(
    "name",
    [
        "key", "api_key", "apikey", "api_kye", "openai_api_key", "authorization", "x-goog-api-key",
        "X-Api-Key", "api-key", "x-auth-token", "cookie", "set-cookie", "x-amz-security-token",
        "x-signature", "X-Goog-Signature", "sig", "client_secret", "password", "db_pass",
        "proxy-authorization", "x-csrftoken",
    ],
)  # fmt: skip
def test_names_of_credentials(name: str):
    assert secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["model", "alt", "content-type", "x-request-id", "pageToken", "next_page_token", "max_tokens",
     "maxOutputTokens", "idempotency-key", "limit", "author", "anthropic-version", "traceparent"],
)  # fmt: skip
def test_ordinary_names(name: str):
    assert not secret_name(name)


VARIABLES = """
    KEY KEYS API_KEY OPENAI_API_KEY OPENAI_API_KEYS openai_api_key APIKEY XAPIKEY X_APIKEY
    MY_KEY_2 AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY SSH_PRIVATE_KEY HF_TOKEN NPM_TOKENS
    GITHUB_TOKEN_2 GITHUBTOKEN CLIENT_SECRET SECRET_KEY_BASE MYSECRET DB_PASS PASS PASSWORD
    PGPASSWORD MYSQL_PASSWD MYSQL_PWD SSHPASS GPG_PASSPHRASE PAT GITHUB_PAT AZURE_PAT AUTH
    NPM_AUTH _AUTH BASIC_AUTH HTTP_AUTHORIZATION CRED CREDS GOOGLE_APPLICATION_CREDENTIALS
    COOKIE SESSION_COOKIE APP_SESSION SESSION SIGNATURE WEBHOOK_SIGNATURE SENTRY_DSN DSN
    CONNECTION_STRING AZURE_STORAGE_CONNECTION_STRING AzureConnectionString dbPassword apiKey
    accessToken MY_JWT SLACK_WEBHOOK_URL api-key my.password KEY1
    OPENAIKEY MASTERKEY DEPLOYKEYS OAUTH OAUTH2 WIFI_PSK PIN HMAC NETRC
"""
PLAIN_VARIABLES = """
    PATH HOME PWD OLDPWD LANG KEYBOARD MONKEY TOKENIZERS_PARALLELISM SSH_AUTH_SOCK
    GIT_AUTHOR_NAME XAUTHORITY DESKTOP_SESSION XDG_SESSION_ID PASSENGER_COUNT COMPASSION
    MAX_TOKENS NUM_CTX_TOKENS TURKEY COMPASS BYPASS KEYMAP
    PATTERN AUTHOR TERM SHLVL PYTHONPATH VIRTUAL_ENV LS_COLORS EDITOR DISPLAY CREDO SIGNAL
"""


@joined("name", VARIABLES.split())
def test_variables_with_credentials(name: str):
    assert secret_variable(name)


@joined("name", PLAIN_VARIABLES.split())
def test_ordinary_variables(name: str):
    assert not secret_variable(name)


@joined(
    "value",
    [
        "postgres://app:fake@db/app",
        "redis://:fake@cache:6379/0",
        "https://fake@github.com/a/b.git",
        "https://host/v1?key=fake",
        "mongodb+srv://app:fake@cluster.example/db?retryWrites=true",
        "Server=db;User Id=app;Password=fakefake;",
        "DefaultEndpointsProtocol=https;AccountKey=ZmFrZQ==;EndpointSuffix=x",
        "-Djavax.net.ssl.keyStorePassword=changeit",
        '{"type": "service_account", "private_key": "fakefake"}',
        "AUTHORIZATION: basic ZmFrZTpmYWtl",
        "machine host login app password fake",
        "sk-proj-fakefake",
        "before sk-proj-fakefake after",
        "4f9c1e7b5a2d8c3f6e0b4f9c1e7b5a2d",
    ],
)
def test_values_with_credentials(value: str):
    assert secret_value("HARMLESS", value)


@joined(
    ("name", "value"),
    [
        ("PATH", "/nix/store/4f9c1e7b5a2d8c3f6e0b4f9c1e7b5a2d-python/bin:/usr/bin"),
        ("GIT_REMOTE", "ssh://git@github.com/a/b.git"),
        ("HOMEPAGE", "https://example.com/a?b=c"),
        ("GITHUB_SHA", "4f9c1e7b5a2d8c3f6e0b4f9c1e7b5a2d4f9c1e7b"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1000/bus"),
        ("LS_COLORS", "rs=0:di=01;34:ln=01;36:*.7z=01;31:*.tar=01;31"),
        ("MODEL", "gpt-5.4-mini-2026-03-17"),
        ("PS1", "[\\u@\\h \\W]\\$ "),
        ("EMPTY", ""),
    ],
)
def test_ordinary_values(name: str, value: str):
    assert not secret_value(name, value)
