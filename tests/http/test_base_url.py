"""Where a client sends: options, variables and base URLs of hosts behind clouds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.joined import joined
from wire import openai
from wire.errors import ConfigurationError
from wire.http.target import Target, target
from wire.providers import PROVIDERS

VALUES = {
    "project": "my-project",
    "location": "europe-west4",
    "region": "eu-west-3",
    "resource": "me",
    "workspace": "wrkspc_1",
    "account": "a1",
}
PLACED = {name: row for name, row in PROVIDERS.items() if row.options}
BEDROCK = "https://bedrock-runtime.eu-west-3.amazonaws.com"


def made(name: str, **options: Any) -> Target:
    return target(name, {"api_key": "fake-key", **options})  # type: ignore[typeddict-item]


def refused(name: str, **options: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        made(name, **options)
    return caught.value.message


@joined("name", PLACED)
def test_options_are_read_from_each_of_their_variables(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = PLACED[name]
    given = {option: VALUES[option] for option in row.options}
    for option in row.options:
        others = {each: value for each, value in given.items() if each != option}
        for variable in row.option_variables[option]:
            with monkeypatch.context() as patch:
                patch.setenv(variable, f" {VALUES[option]}\n")
                found = made(name, **others)
                assert found.base_url == made(name, **given).base_url
                described = found.describe()
                assert described[option] == VALUES[option]
                assert described[f"{option}_source"] == variable
                patch.setenv(variable, "us-east-1" if option == "region" else "other")
                described = made(name, **given).describe()  # the argument counts
                assert (described[option], described[f"{option}_source"]) == (
                    VALUES[option],
                    "argument",
                )


@joined("name", PLACED)
def test_a_missing_option_is_named_with_its_variables(name: str) -> None:
    row = PLACED[name]
    given = {option: VALUES[option] for option in row.options}
    for option in row.options:
        others = {each: value for each, value in given.items() if each != option}
        if option in row.option_defaults:
            assert made(name, **others).describe()[f"{option}_source"] == "default"
            continue
        message = refused(name, **others)
        assert message.startswith(f"{option}: {name} needs it: give {option}=")
        assert all(variable in message for variable in row.option_variables[option])


@joined("name", PLACED)
def test_an_option_of_another_host_is_refused(name: str) -> None:
    given = {option: VALUES[option] for option in PLACED[name].options}
    for option in VALUES.keys() - given.keys():
        message = refused(name, **given, **{option: VALUES[option]})
        assert message == f"{option}: {name} has no such option"


@joined(
    ("option", "value", "problem"),
    [
        ("region", "oregon", "'oregon' is not a region of AWS, such as us-east-1"),
        ("region", "us-west-2.evil.example", "is not a region of AWS, such as us-east-1"),
        ("region", "us-west-2/x", "cannot be part of a path"),
        ("region", "..", "cannot be part of a path"),
    ],
)
def test_a_region_that_is_none(option: str, value: str, problem: str) -> None:
    assert refused("bedrock@invoke", **{option: value}).endswith(problem)


@joined(
    ("name", "option", "value"),
    [
        ("anthropic@vertex", "location", "europe.evil"),
        ("azure", "resource", "me.evil"),
        ("azure", "resource", "me:80"),
    ],
)
def test_an_option_stays_in_its_label_of_the_host(name: str, option: str, value: str) -> None:
    given = {each: VALUES[each] for each in PLACED[name].options} | {option: value}
    assert f"{option}: '{value}' is not " in refused(name, **given)


@joined(
    ("region", "host"),
    [
        ("us-west-2", "bedrock-runtime.us-west-2.amazonaws.com"),
        ("us-gov-west-1", "bedrock-runtime.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "bedrock-runtime.cn-north-1.amazonaws.com.cn"),
        ("eusc-de-east-1", "bedrock-runtime.eusc-de-east-1.amazonaws.eu"),
        ("us-iso-east-1", "bedrock-runtime.us-iso-east-1.c2s.ic.gov"),
        ("us-isob-east-1", "bedrock-runtime.us-isob-east-1.sc2s.sgov.gov"),
    ],
)
def test_partitions_of_aws(region: str, host: str) -> None:
    assert made("bedrock@invoke", region=region).base_url == f"https://{host}"


def test_a_base_url_of_the_provider_names_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    found = made("bedrock@invoke", base_url=BEDROCK)
    assert (found.place, found.place_sources) == ({"region": "eu-west-3"}, {"region": "base URL"})
    assert made("bedrock@invoke", base_url=BEDROCK, region="eu-west-3").place == found.place
    assert refused("bedrock@invoke", base_url=BEDROCK, region="us-west-2") == (
        "region: 'us-west-2' differs from 'eu-west-3' in base_url"
    )
    url = "https://aiplatform.eu.rep.googleapis.com"
    assert refused("anthropic@vertex", base_url=url, project="p").startswith("location: ")
    assert made("azure", base_url="https://me.openai.azure.com/openai/v1").place == {
        "resource": "me"
    }


def test_another_base_url_and_the_options_of_a_host() -> None:
    gateway = "https://gateway.example/v1"
    assert refused("azure", base_url=gateway, resource="me") == (
        "resource: azure takes it or base_url, not both"
    )
    # The region is signed, wherever the request goes.
    assert made("bedrock@invoke", base_url=gateway, region="eu-west-3").place == {
        "region": "eu-west-3"
    }
    assert made("bedrock@invoke", base_url=gateway).place == {}
    assert made("anthropic@aws", base_url=gateway, workspace="w").headers[
        "anthropic-workspace-id"
    ] == ("w")


def test_the_endpoints_of_a_model_stand_below_its_own_path() -> None:
    mantle = made("bedrock@openai", region="us-west-2")

    def url(model: str, there: Target) -> str:
        request = openai.ChatCompletionRequest(
            model=model, messages=[openai.Message(role="user", content="Hi")]
        )
        return there.url(openai.chat_completions(request)).partition("api.aws")[2]

    assert url("openai.gpt-oss-120b", mantle) == "/v1/chat/completions"
    assert url("google.gemma-4-31b", mantle) == "/openai/v1/chat/completions"
    assert url("openai.gpt-5.5", mantle) == "/openai/v1/chat/completions"
    own = made("bedrock@openai", base_url="https://bedrock-mantle.us-west-2.api.aws/openai/v1")
    assert url("openai.gpt-oss-120b", own) == "/openai/v1/chat/completions"
