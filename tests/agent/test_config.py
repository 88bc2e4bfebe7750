"""Configuration: the keys that load, what stands in for what is not said, and that no key goes to
the host of another vendor.
"""

from __future__ import annotations

import builtins
import json
import os
import pickle
import re
import traceback
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.agent import LLMAgent
from wire.agent.config import Config, LLMConfig, load_config
from wire.chat.chat import AsyncChat
from wire.core.memory import Note, notes
from wire.core.provider import HOST_OPTIONS
from wire.core.secret import Secret
from wire.errors import ConfigurationError
from wire.gemini.lifetimes import NEWEST
from wire.providers import PROVIDERS

ENV = {
    "GEMINI_API_KEY": "fake-gemini-key",
    "DEEPSEEK_API_KEY": "fake-deepseek-key",
    "OTHER_KEY": "fake-other-key",
}


def shown(config: LLMConfig) -> dict[str, Any]:
    """The fields, with the key in the open; those of hosts only if they are given."""
    vertex = (*HOST_OPTIONS, "token", "credentials")
    fields = {
        name: value
        for name in config.__struct_fields__
        if (value := getattr(config, name)) != "" or name not in vertex
    }
    return {
        **fields,
        "api_key": config.api_key.reveal()
        if isinstance(config.api_key, Secret)
        else config.api_key,
    }


def load(source: Any, env: dict[str, str] = ENV) -> Config:
    return load_config(source, env=env, date="")  # no notes that depend on the day of the run


def parser(settings: dict[str, Any], **top: Any) -> LLMConfig:
    return load({**top, "multi_agent": {"agents": {"parser": settings}}}).agents["parser"]


def refused(source: Any, env: dict[str, str] = ENV) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load(source, env)
    return str(caught.value)


# --- what there is --------------------------------------------------------------------------------


@pytest.mark.row("S1-59")
def test_names_and_defaults():
    assert shown(LLMConfig()) == {
        "api_key": "",
        "provider": "gemini",
        "model": NEWEST,
        "max_tokens": 4096,
        "temperature": 0.7,
        "api_base": "",
        "search_grounding": False,
    }
    assert (LLMConfig().project, LLMConfig().location, LLMConfig().token) == ("", "", "")
    assert load({}).llm == LLMConfig()
    assert load({}).agents == {}
    assert load({}).routing is None


@pytest.mark.row("S1-68")
def test_the_keys_of_a_configuration():
    config = load(
        {
            "provider": "gemini",
            "api_key": "${GEMINI_API_KEY}",
            "model": "gemini-3-pro-preview",
            "multi_agent": {
                "agents": {
                    "parser": {
                        "provider": "deepseek",
                        "api_key": "${DEEPSEEK_API_KEY}",
                        "model": "deepseek-chat",
                    },
                    "writer": {},
                }
            },
        }
    )
    assert shown(config.llm) == {
        **shown(LLMConfig()),
        "api_key": "fake-gemini-key",
        "model": "gemini-3-pro-preview",
    }
    assert shown(config.agents["parser"]) == {
        **shown(LLMConfig()),
        "provider": "deepseek",
        "api_key": "fake-deepseek-key",
        "model": "deepseek-chat",
    }
    assert config.agents["writer"] == config.llm
    assert list(config.agents) == ["parser", "writer"]
    assert config.agent("parser") is config.agents["parser"]
    assert config.agent("nobody") is config.llm


@pytest.mark.row("S1-60")
def test_search_grounding_as_a_switch_or_a_section():
    for said, meant in (
        (True, True),
        (False, False),
        ({"enabled": True}, True),
        ({"enabled": False}, False),
        ({}, False),
        (None, False),
    ):
        assert load({"search_grounding": said}).llm.search_grounding is meant


@pytest.mark.row("S2-18")
def test_the_provider_is_a_value_and_not_guessed_from_the_host():
    config = load(
        {
            "provider": "gemini",
            "api_key": "fake-key",
            "api_base": "https://proxy.example/openai/v1/chat",
        }
    ).llm
    assert config.provider == "gemini"
    assert config.api_base == "https://proxy.example/openai/v1/chat"
    assert load({"provider": "OpenAI", "model": "m"}).llm.provider == "openai"
    assert LLMConfig(provider=" Kimi@CN ", model="m").provider == "kimi@cn"


def test_null_says_of_a_number_that_it_is_not_sent_and_of_a_text_nothing():
    config = load(
        {
            "api_key": None,
            "api_base": None,
            "max_tokens": None,
            "temperature": None,
            "multi_agent": None,
            "routing": None,
        }
    )
    assert shown(config.llm) == {**shown(LLMConfig()), "max_tokens": None, "temperature": None}
    assert parser({"temperature": None}, temperature=0.1).temperature is None
    assert (
        parser({"api_key": None, "model": None}, api_key="fake-key", model="gemini-x").model
        == "gemini-x"
    )
    assert load({"multi_agent": {"agents": {"parser": None}}}).agents["parser"] == LLMConfig()


# --- keys of the application ----------------------------------------------------------------------

APPLICATION = {
    "max_steps": 20,
    "workspace_dir": "./workspace",
    "log_level": "INFO",
    "log_file": "./logs/agent.log",
    "cdp": {"port": 9222, "chrome_profile": "~/.resume-agent/profile", "auto_launch": True},
    "session": {"enabled": True, "sessions_dir": "./sessions"},
    "prompt_cache": {"enabled": True, "retention": "24h"},
    "models": ["a", "b"],
    "providers": {"own": {"token": "fake-token"}},
}
LEFT = "not a setting: left to the application"


def test_a_configuration_file_of_an_application_is_read_whole(tmp_path: Path):
    path = tmp_path / "config.json"
    source = {
        "provider": "gemini",
        "api_key": "${GEMINI_API_KEY}",
        "model": "gemini-3-pro-preview",
        **APPLICATION,
        "search_grounding": {"enabled": False},
        "routing": {"enabled": True, "model": "gemini-2.5-flash", "max_tokens": 64},
        "multi_agent": {
            "enabled": "auto",
            "mode": "orchestrated",
            "delegation": {"max_depth": 5},
            "history": {"max_messages_per_agent": 50},
            "agents": {"parser": {"enabled": False, "temperature": 0.3}},
        },
    }
    path.write_text(json.dumps(source), "utf-8")
    config = load(path)
    assert config.llm.model == "gemini-3-pro-preview"
    assert (config.routing or LLMConfig()).max_tokens == 64
    assert config.agents["parser"].temperature == 0.3
    inside = ("enabled", "mode", "delegation", "history")
    paths = [
        *APPLICATION,
        *(f"multi_agent.{name}" for name in inside),
        "multi_agent.agents.parser.enabled",
        "routing.enabled",
    ]
    assert notes(config) == config.notes == tuple(Note(each, LEFT) for each in paths)


def test_a_model_that_ends_soon_is_a_note_where_it_is_named():
    source = {
        "provider": "openai",
        "model": "gpt-5",
        "multi_agent": {"agents": {"same": {}, "vertex": {
            "provider": "gemini@vertex", "model": "gemini-2.5-pro"
        }}},
        "routing": {"model": "gpt-6.1-sol"},
    }  # fmt: skip
    told = load_config(source, env={}, date="2026-10-15").notes
    assert [(each.path, each.message.partition(";")[0]) for each in told] == [
        ("model", "gpt-5 ends on 2026-12-11"),
        ("multi_agent.agents.vertex.model", "gemini-2.5-pro ends on 2026-10-16"),
    ]
    assert load_config(source, env={}, date="2026-08-01").notes == ()
    assert load_config(source, env={}, date="").notes == ()
    with pytest.raises(ConfigurationError, match="date: expected a day such as 2026-11-28"):
        load_config(source, env={}, date="soon")


@joined("key", ["modle", "temprature", "max_token", "api_keys", "apikey", "api_bases", "providr"])
def test_a_misspelled_setting_is_no_key_of_the_application(key: str):
    assert re.fullmatch(rf"{key}: no such key; did you mean \w+\?", refused({key: "x"}))
    assert load({key: {"own": 1}}).notes == (Note(key, LEFT),)  # no setting has keys of its own


def test_the_section_of_an_agent_stays_strict():
    for key in APPLICATION:
        assert refused({"multi_agent": {"agents": {"parser": {key: 1}}}}).startswith(
            f"multi_agent.agents.parser.{key}: no such key; "
        )
        assert refused({"routing": {key: 1}}).startswith(f"routing.{key}: no such key; ")


# --- Vertex ---------------------------------------------------------------------------------------

VERTEX = {"provider": "gemini@vertex", "model": "gemini-3-pro-preview"}
PLACE = {"project": "my-project", "location": "europe-west4"}


def agent_of(config: LLMConfig) -> LLMAgent:
    return LLMAgent.from_config(config)


def test_vertex_by_a_token_from_the_environment():
    source = {**VERTEX, "project": "${PROJECT}", "location": "global", "token": "${TOKEN}"}
    config = load(source, {"PROJECT": "my-project", "TOKEN": "fake-token\n"}).llm
    assert (config.project, config.location, repr(config.token)) == (
        "my-project",
        "global",
        "Secret('***')",
    )
    assert "fake-token" not in repr(config)
    chat = agent_of(config).model
    assert isinstance(chat, AsyncChat)
    assert chat.client.describe()["key"] == "token callback"
    assert chat.client.describe()["base_url"] == (
        "https://aiplatform.googleapis.com/v1beta1/projects/my-project/locations/global"
        "/publishers/google"
    )
    assert refused(source, {"PROJECT": "p"}) == "token: the environment variable TOKEN is not set"


def test_vertex_by_a_function_for_the_token():
    def token() -> str:
        return "fake-token"

    config = load({**VERTEX, **PLACE, "token": token}).llm
    assert config.token is token
    assert config == LLMConfig(**VERTEX, **PLACE, token=token)
    assert agent_of(config).model
    assert load({**VERTEX, **PLACE, "api_key": "fake-key"}).llm.token == ""


def test_an_agent_of_the_same_provider_takes_project_location_and_token():
    top = {**VERTEX, **PLACE, "token": "fake-token"}
    own = parser({"location": "global"}, **top)
    assert (own.project, own.location, own.token_source and own.token_source()) == (
        "my-project",
        "global",
        "fake-token",
    )
    # A client takes a key or a token, not both: the nearer one counts.
    assert shown(parser({"api_key": "fake-key"}, **top)).get("token", "") == ""
    assert parser({"token": "fake-token"}, **{**VERTEX, **PLACE}, api_key="fake-key").api_key == ""
    assert parser({"provider": "deepseek", "model": "m"}, **top).project == ""


TAKERS = {
    "account": "cloudflare takes it",
    "workspace": "anthropic@google, anthropic@aws take it",
    "resource": "azure, azure@deployments, azure@responses, azure@anthropic take it",
}


@pytest.mark.parametrize("key", [*HOST_OPTIONS, "token", "credentials"])
def test_vertex_settings_of_another_provider(key: str):
    (note,) = load({key: "x", "model": "m"}).notes
    told = "not a setting of gemini: left to the application; "
    assert (note.path, note.message[: len(told)]) == (key, told)
    takers = note.message[len(told) :]
    assert takers == TAKERS.get(key, takers)
    assert "project" not in key or takers.startswith("gemini@vertex, ")
    assert refused({"multi_agent": {"agents": {"parser": {key: "x"}}}}) == (
        f"multi_agent.agents.parser.{key}: gemini has no such setting; {takers}"
    )
    taker = {"provider": re.split("[, ]", takers)[0], "model": "m"}
    assert refused({**taker, key: 5}).startswith(f"{key}: expected a text")


BEDROCK = {
    "provider": "bedrock@invoke",
    "model": "anthropic.claude-opus-4-8",
    "region": "us-west-2",
}


def test_an_agent_of_bedrock_by_its_credentials(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    for settings, told in (({}, "AWS"), ({"credentials": "aws:profile"}, "AWS (profile)")):
        chat = agent_of(load({**BEDROCK, **settings}, {}).llm).model
        assert isinstance(chat, AsyncChat)
        assert chat.client.describe()["credentials"] == told
    with pytest.raises(ConfigurationError, match="credentials: 'aws:no' is no source"):
        agent_of(load({**BEDROCK, "credentials": "aws:no"}, {}).llm)
    # A client takes a key, a token or credentials: the nearer one counts.
    top = {**BEDROCK, "credentials": "aws:profile"}
    assert parser({"api_key": "fake-key"}, **top).credentials == ""
    assert parser({"token": "fake-token"}, **top).credentials == ""
    assert parser({}, **top).credentials == "aws:profile"
    assert parser({"credentials": "aws"}, **{**BEDROCK, "api_key": "fake-key"}).api_key == ""


def test_an_agent_of_bedrock_by_region():
    config = load(
        {
            "provider": "bedrock@invoke",
            "model": "anthropic.claude-opus-4-8",
            "region": "${REGION}",
            "api_key": "fake-key",
        },
        {"REGION": "us-west-2"},
    ).llm
    chat = agent_of(config).model
    assert isinstance(chat, AsyncChat)
    described = chat.client.describe()
    assert described["base_url"] == "https://bedrock-runtime.us-west-2.amazonaws.com"
    assert described["region_source"] == "argument"


# --- who stands in for whom -----------------------------------------------------------------------

TOP = {
    "provider": "gemini",
    "api_key": "fake-top-key",
    "model": "gemini-x",
    "api_base": "https://proxy.example",
    "max_tokens": 9,
    "temperature": 0.1,
    "search_grounding": True,
}


@pytest.mark.row("S1-65")
@pytest.mark.parametrize("said", [{}, {"provider": "gemini"}, {"provider": "Gemini"}])
def test_of_the_same_provider_everything_falls_back(said: dict[str, Any]):
    assert shown(parser(said, **TOP)) == shown(load(TOP).llm) == TOP
    own = {
        "api_key": "fake-own-key",
        "model": "m",
        "api_base": "https://h.example",
        "max_tokens": 1,
        "temperature": 0,
        "search_grounding": False,
    }
    assert shown(parser({**said, **own}, **TOP)) == {"provider": "gemini", **own}


@pytest.mark.row("S1-65")
def test_of_another_provider_key_host_and_model_do_not_fall_back():
    assert shown(parser({"provider": "deepseek", "model": "deepseek-chat"}, **TOP)) == {
        "provider": "deepseek",
        "api_key": "",
        "model": "deepseek-chat",
        "api_base": "",
        "max_tokens": 9,
        "temperature": 0.1,
        "search_grounding": False,
    }


@pytest.mark.row("S1-65")
@given(
    st.sampled_from(sorted(PROVIDERS)),
    st.sampled_from(sorted(PROVIDERS)),
    st.sampled_from([{}, {"max_tokens": 1}, {"search_grounding": True}]),
)
def test_no_vendors_key_host_or_model_reaches_another(top: str, other: str, more: dict[str, Any]):
    source = {
        "provider": top,
        "api_key": "fake-top-key",
        "model": "top-model",
        "api_base": "https://proxy.example",
    }
    found = shown(parser({"provider": other, "model": "own-model", **more}, **source))
    same = top == other
    assert (found["api_key"], found["api_base"]) == (
        ("fake-top-key", "https://proxy.example") if same else ("", "")
    )
    found = (
        refused({**source, "multi_agent": {"agents": {"parser": {"provider": other, **more}}}})
        if not same
        else ""
    )
    assert found == (
        "" if same else f"multi_agent.agents.parser.model: {other} has no default model; name one"
    )


@pytest.mark.row("S1-65")
def test_a_region_is_another_host_with_another_key():
    assert (
        parser(
            {"provider": "kimi@cn", "model": "m"}, provider="kimi", api_key="fake-key", model="m"
        ).api_key
        == ""
    )


@pytest.mark.row("S1-65")
@joined("host", ["api.deepseek.com", "API.DeepSeek.com."])
@joined("section", ["multi_agent.agents.parser", "routing"])
def test_a_key_that_was_not_given_for_a_host_does_not_go_to_another_vendors(
    section: str, host: str
):
    settings = {"api_base": f"https://{host}/v1", "model": "deepseek-chat"}
    source = (
        {"routing": settings}
        if section == "routing"
        else {"multi_agent": {"agents": {"parser": settings}}}
    )
    assert refused({"api_key": "fake-top-key", **source}) == (
        f"{section}.api_base: a host of deepseek, but the key is one of gemini and was "
        "not given for it; "
        "name the provider, or give its api_key"
    )
    # Without a key nothing is decided: the client looks at host and variable.
    assert load(source).llm.api_key == ""


@pytest.mark.row("S1-65")
def test_a_key_of_the_environment_that_stands_in_does_not_go_to_another_vendors_host():
    source = {"api_key": "${NOT_SET}", "api_base": "https://api.deepseek.com"}
    assert "api_base: a host of deepseek, but the key is one of gemini" in refused(source)
    assert (
        shown(load({**source, "api_base": "https://proxy.example"}).llm)["api_key"]
        == "fake-gemini-key"
    )


@pytest.mark.row("S1-65")
def test_a_key_that_was_given_beside_a_host_goes_there():
    settings = {"api_base": "https://api.deepseek.com", "api_key": "fake-own-key"}
    assert shown(parser(settings, api_key="fake-top-key"))["api_key"] == "fake-own-key"


@pytest.mark.row("S1-66")
def test_routing_is_resolved_in_the_same_way():
    said = {
        "provider": "deepseek",
        "api_key": "${DEEPSEEK_API_KEY}",
        "model": "deepseek-chat",
        "temperature": 0.0,
        "max_tokens": 64,
    }
    routing = load({**TOP, "routing": said}).routing
    assert routing is not None
    assert shown(routing) == {
        **said,
        "api_key": "fake-deepseek-key",
        "api_base": "",
        "search_grounding": False,
    }
    assert load({**TOP, "routing": {"model": "gemini-y"}}).routing is not None
    assert shown(load({**TOP, "routing": {"model": "gemini-y"}}).routing or LLMConfig()) == {
        **TOP,
        "model": "gemini-y",
    }


def test_the_default_model_is_one_of_gemini_only():
    assert refused({"provider": "deepseek"}) == "model: deepseek has no default model; name one"
    assert load({"provider": "gemini@openai"}).llm.model == NEWEST


def test_a_host_of_ones_own():
    source = {
        "provider": "my-host",
        "api_base": "https://llm.example/v1",
        "model": "m",
        "api_key": "${NOT_SET}",
    }
    assert shown(load(source, {"MY_HOST_API_KEY": "fake-key"}).llm)["api_key"] == "fake-key"
    assert "neither is MY_HOST_API_KEY" in refused(source, {})


# --- the environment ------------------------------------------------------------------------------


@pytest.mark.row("S1-60")
def test_variables_stand_in_any_text():
    source = {
        "model": "${FAMILY}-${SIZE}",
        "api_base": "https://${HOST}/v1",
        "max_tokens": "${MOST}",
        "temperature": "${HEAT}",
    }
    env = {
        "FAMILY": "gemini",
        "SIZE": "x",
        "HOST": "h.example",
        "MOST": "64",
        "HEAT": "0",
        "ON": "true",
        "N": "gemini",
    }
    config = load({**source, "provider": "${N}", "search_grounding": {"enabled": "${ON}"}}, env).llm
    assert shown(config) == {
        **shown(LLMConfig()),
        **{
            "model": "gemini-x",
            "api_base": "https://h.example/v1",
            "max_tokens": 64,
            "temperature": 0.0,
            "search_grounding": True,
        },
    }


@pytest.mark.row("S1-11", "S1-60")
def test_a_key_from_the_configuration_else_from_the_providers_variable():
    assert shown(load({"api_key": "fake-plain-key"}).llm)["api_key"] == "fake-plain-key"
    assert shown(load({"api_key": "${OTHER_KEY}"}).llm)["api_key"] == "fake-other-key"
    assert shown(load({"api_key": "${NOT_SET}"}).llm)["api_key"] == "fake-gemini-key"
    assert (
        shown(load({"api_key": "${BLANK}"}, {**ENV, "BLANK": " "}).llm)["api_key"]
        == "fake-gemini-key"
    )
    assert (
        shown(load({"api_key": "${OTHER_KEY}"}, {"OTHER_KEY": " fake-key\n"}).llm)["api_key"]
        == "fake-key"
    )


@pytest.mark.row("S1-11")
@pytest.mark.parametrize("said", ["", None])
def test_no_key_is_no_error_until_one_is_needed(said: Any):
    assert load({"api_key": said}, {}).llm.api_key == ""


@pytest.mark.row("S1-60")
def test_a_variable_that_is_not_set_is_named():
    assert (
        refused({"api_key": "${GEMINI_API_KEY}"}, {})
        == "api_key: the environment variable GEMINI_API_KEY is not set"
    )
    assert (
        refused({"api_key": "${MINE}"}, {})
        == "api_key: the environment variable MINE is not set, and neither is GEMINI_API_KEY"
    )
    assert refused({"model": "${MODEL}"}) == "model: the environment variable MODEL is not set"
    agents = {"parser": {"provider": "deepseek", "model": "m", "api_key": "${MINE}"}}
    assert refused({"multi_agent": {"agents": agents}}, {}) == (
        "multi_agent.agents.parser.api_key: the environment variable MINE is not set, "
        "and neither is DEEPSEEK_API_KEY"
    )


@joined("said", ["${A:-b}", "${}", "${1A}", "${A", "a${A}${B-}"])
def test_another_form_of_a_variable_is_refused_and_not_sent(said: str):
    assert (
        refused({"model": said}, {"A": "a"})
        == "model: only the form ${NAME} of a variable is supported"
    )
    assert (
        refused({"api_key": said}, {"A": "a"})
        == "api_key: only the form ${NAME} of a variable is supported"
    )


@pytest.mark.row("S1-60")
def test_the_environment_of_the_process_is_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WIRE_TEST_MODEL", "gemini-x")
    assert load_config({"model": "${WIRE_TEST_MODEL}"}).llm.model == "gemini-x"


# --- what is wrong --------------------------------------------------------------------------------

WRONG: dict[str, tuple[Any, str]] = {
    "top": ({"modle": "m"}, "modle: no such key; did you mean model?"),
    "top section": ({"routng": {}}, "routng: no such key; did you mean routing?"),
    "not close": (
        {"routing": {"colour": "red"}},
        "routing.colour: no such key; there are api_key, provider, model, ",
    ),
    "agent": (
        {"multi_agent": {"agents": {"parser": {"modle": "m"}}}},
        "multi_agent.agents.parser.modle: no such key; did you mean model?",
    ),
    "agent of an agent": (
        {"multi_agent": {"agents": {"parser": {"routing": {}}}}},
        "multi_agent.agents.parser.routing: no such key",
    ),
    "multi_agent": (
        {"multi_agent": {"agent": {}}},
        "multi_agent.agent: no such key; did you mean agents?",
    ),
    "routing": (
        {"routing": {"temprature": 0}},
        "routing.temprature: no such key; did you mean temperature?",
    ),
    "grounding": (
        {"search_grounding": {"enabeld": True}},
        "search_grounding.enabeld: no such key; did you mean enabled?",
    ),
    "key that is no text": ({1: 2}, "1: no such key"),
    "provider": ({"provider": 5}, "provider: expected a name as text, not 5"),
    "blank model": ({"model": " "}, "model: expected a name as text, not ' '"),
    "empty model": ({"model": ""}, "model: expected a name as text, not ''"),
    "api_base": ({"api_base": 5}, "api_base: expected a URL without a key, as text, not 5"),
    "max_tokens as text": (
        {"max_tokens": "64"},
        "max_tokens: expected a whole number above 0, not '64'",
    ),
    "max_tokens 0": ({"max_tokens": 0}, "max_tokens: expected a whole number above 0, not 0"),
    "max_tokens true": (
        {"max_tokens": True},
        "max_tokens: expected a whole number above 0, not True",
    ),
    "max_tokens 1.5": (
        {"max_tokens": 1.5},
        "max_tokens: expected a whole number above 0, not 1.5",
    ),
    "max_tokens of a variable": (
        {"max_tokens": "${OTHER_KEY}"},
        "max_tokens: expected a whole number above 0, not ",
    ),
    "temperature": ({"temperature": -1}, "temperature: expected a number from 0 on, not -1"),
    "temperature NaN": (
        {"temperature": float("nan")},
        "temperature: expected a number from 0 on, not nan",
    ),
    "temperature of an agent": (
        {"multi_agent": {"agents": {"parser": {"temperature": "hot"}}}},
        "multi_agent.agents.parser.temperature: expected a number from 0 on, not 'hot'",
    ),
    "search_grounding": (
        {"search_grounding": 1},
        "search_grounding: expected true or false, not 1",
    ),
    "search_grounding enabled": (
        {"search_grounding": {"enabled": "on"}},
        "search_grounding.enabled: expected true or false, not 'on'",
    ),
    "agents as list": (
        {"multi_agent": {"agents": []}},
        "multi_agent.agents: expected a section with keys, not list",
    ),
    "agent as text": (
        {"multi_agent": {"agents": {"parser": "deepseek"}}},
        "multi_agent.agents.parser: expected a section with keys, not str",
    ),
    "name of an agent": (
        {"multi_agent": {"agents": {1: {}}}},
        "multi_agent.agents.1: expected a text as name, not 1",
    ),
    "unknown provider": (
        {"provider": "deepseak", "model": "m"},
        "provider: 'deepseak' is unknown; did you mean 'deepseek'? `wire providers` lists all",
    ),
    "unknown region": (
        {"provider": "kimi@mars", "model": "m", "api_base": "https://h.example"},
        "provider: 'kimi@mars' is unknown; ",
    ),
    "key as number": ({"api_key": 12345678901}, "api_key: expected a text"),
    "key as section": (
        {"multi_agent": {"agents": {"parser": {"api_key": {"a": "b"}}}}},
        "multi_agent.agents.parser.api_key: expected a text",
    ),
    "key with a blank": (
        {"api_key": "fake key"},
        "api_key: character 4 is white space or not ASCII",
    ),
}


@pytest.mark.row("S1-59", "S1-60")
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_path(name: str, tmp_path: Path):
    source, told = WRONG[name]
    assert refused(source).startswith(told)
    if name not in ("key that is no text", "name of an agent", "temperature NaN"):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(source))
        assert refused(path).startswith(f"{path}: {told}")


def test_an_unknown_provider_gets_a_hint():
    assert "; did you mean 'deepseek'? `wire" in refused({"provider": "deepseak", "model": "m"})
    assert "; did you mean 'gemini'? `wire" in refused({"provider": "google", "model": "m"})
    assert refused({"provider": "nobody", "model": "m"}).endswith("; any other host needs api_base")
    region = {"provider": "kimi@mars", "model": "m", "api_base": "https://h.example"}
    assert "; did you mean 'kimi@cn', 'kimi' or 'kimi@anthropic'? `wire" in refused(region)
    assert not refused(region).endswith("api_base")


@pytest.mark.row("S1-59")
@joined(
    ("fields", "told"),
    [
        ({"max_tokens": 0}, "max_tokens: expected a whole number above 0"),
        ({"model": ""}, "model: expected a name"),
        ({"api_key": 5}, "api_key: expected a text"),
        ({"provider": None}, "provider: expected a name"),
        ({"search_grounding": "yes"}, "search_grounding: expected true or false"),
    ],
)
def test_a_config_made_by_hand_is_checked(fields: dict[str, Any], told: str):
    with pytest.raises(ConfigurationError) as caught:
        LLMConfig(**fields)
    assert str(caught.value).startswith(told)
    with pytest.raises(TypeError, match="modle"):
        LLMConfig(modle="m")  # type: ignore[call-arg]


# --- keys show themselves to nobody ---------------------------------------------------------------


def test_a_key_is_not_shown():
    config = load({"api_key": "fake-plain-key", "multi_agent": {"agents": {"parser": {}}}})
    assert "fake-plain-key" not in f"{config!r} {config.llm} {pickle.dumps(config)!r}"
    assert repr(LLMConfig("fake-plain-key")) == repr(config.llm)
    assert isinstance(LLMConfig("fake-plain-key").api_key, Secret)


FILES = {
    ".json": '{{"api_key": "{key}", {fault}}}',
    ".toml": 'api_key = "{key}"\n{fault}\n',
    ".yaml": "api_key: {key}\n{fault}\n",
}
FAULTS = [
    (".json", '"modle": "m"', "modle: no such key"),
    (".json", '"model": ', "not JSON: Expecting value, line 1"),
    (".json", '"model": 5', "model: expected a name as text"),
    (
        ".json",
        '"multi_agent": {"agents": {"p": {"api_key": "fake-other-key", "max_tokens": 0}}}',
        "multi_agent.agents.p.max_tokens: ",
    ),
    (".toml", 'modle = "m"', "modle: no such key"),
    (".toml", "model = ", "not TOML: Invalid value (at line 2, column 9)"),
    (".toml", 'api_key = "fake-other-key"', "not TOML: Cannot overwrite a value"),
    (".yaml", "modle: m", "modle: no such key"),
    (".yaml", "model: [", "not YAML: expected the node content, but found '<stream end>', line 3"),
    (".yaml", "  model: m", "not YAML: mapping values are not allowed here, line 2"),
    (
        ".yaml",
        "model: !!python/object:os.system x",
        "not YAML: could not determine a constructor for the tag",
    ),
]


@pytest.mark.parametrize(("suffix", "fault", "told"), FAULTS)
def test_no_error_and_no_frame_of_ours_shows_a_key(
    suffix: str, fault: str, told: str, tmp_path: Path
):
    path = tmp_path / f"config{suffix}"
    path.write_text(FILES[suffix].format(key="fake-plain-key", fault=fault))
    with pytest.raises(ConfigurationError) as caught:
        load_config(path, env=ENV)
    assert str(caught.value).startswith(f"{path}: {told}")
    told_all = "".join(
        traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    )
    ours = told_all[told_all.index("wire/agent/config.py") :]
    assert [key for key in ("fake-plain-key", *ENV.values()) if key in ours] == []


@joined(
    "source",
    [
        {"api_key": "fake-plain-key", "modle": "m"},
        {
            "api_key": "fake-plain-key",
            "multi_agent": {"agents": {"p": {"api_key": "fake-plain-key", "provider": "x"}}},
        },
        {"api_key": "fake-plain-key\u00fc"},
        {"api_key": "fake-plain-key-${NOT"},
        {"api_key": "fake-plain-key", "routing": {"api_base": "https://api.deepseek.com"}},
    ],
)
def test_no_frame_shows_a_key_of_a_mapping(source: dict[str, Any]):
    try:
        load_config(source, env={**ENV})
    except ConfigurationError as error:
        told = "".join(
            traceback.TracebackException.from_exception(error, capture_locals=True).format()
        )
    ours = told[told.index("wire/agent/config.py") :]
    assert [key for key in ("fake-plain-key", *ENV.values()) if key in ours] == []


# --- files ----------------------------------------------------------------------------------------

SAID = {
    "provider": "gemini",
    "api_key": "${GEMINI_API_KEY}",
    "model": "gemini-3-pro-preview",
    "search_grounding": {"enabled": True},
}
AGENT = {
    "provider": "deepseek",
    "api_key": "${DEEPSEEK_API_KEY}",
    "model": "deepseek-chat",
    "temperature": 0.3,
}
TEXTS = {
    ".json": json.dumps({**SAID, "multi_agent": {"agents": {"parser": AGENT}}}),
    ".toml": """\
provider = "gemini"
api_key = "${GEMINI_API_KEY}"
model = "gemini-3-pro-preview"

[search_grounding]
enabled = true

[multi_agent.agents.parser]
provider = "deepseek"
api_key = "${DEEPSEEK_API_KEY}"
model = "deepseek-chat"
temperature = 0.3
""",
    ".yaml": """\
provider: "gemini"  # gemini | deepseek
api_key: "${GEMINI_API_KEY}"
model: gemini-3-pro-preview
search_grounding:
  enabled: true
multi_agent:
  agents:
    parser:
      provider: deepseek
      api_key: ${DEEPSEEK_API_KEY}
      model: deepseek-chat
      temperature: 0.3
""",
}


@pytest.mark.row("S1-60", "S1-68")
@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        (".json", ".json"),
        (".toml", ".toml"),
        (".yaml", ".yaml"),
        (".yml", ".yaml"),
        (".YAML", ".yaml"),
    ],
)
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_file_says_what_a_mapping_says(suffix: str, kind: str, start: str, tmp_path: Path):
    path = tmp_path / f"config{suffix}"
    path.write_text(start + TEXTS[kind], "utf-8")
    wanted = load({**SAID, "multi_agent": {"agents": {"parser": AGENT}}})
    for source in (path, str(path), [path]):
        found = load(source)
        assert shown(found.llm) == shown(wanted.llm)
        assert shown(found.agents["parser"]) == shown(wanted.agents["parser"])


@pytest.mark.row("S1-60")
def test_the_local_file_before_the_template(tmp_path: Path):
    local, template = tmp_path / "config.local.toml", tmp_path / "config.toml"
    template.write_text('model = "of-the-template"')
    assert load([local, template]).llm.model == "of-the-template"
    local.write_text('model = "local"')
    assert load([local, template]).llm.model == "local"
    assert load(iter([str(template), str(local)])).llm.model == "of-the-template"


@pytest.mark.row("S1-60")
def test_without_pyyaml_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "config.yaml"
    path.write_text("model: m")
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "yaml":
            raise ModuleNotFoundError("No module named 'yaml'")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert (
        refused(path)
        == f"{path}: YAML needs PyYAML: pip install 'wire-llm[yaml]'; .toml and .json are "
        "read without it"
    )


def test_files_that_cannot_be_read(tmp_path: Path):
    assert (
        refused(tmp_path / "none.toml") == f"no configuration: {tmp_path}/none.toml: no such file"
    )
    assert (
        refused([tmp_path / "a.toml", "b.toml"])
        == f"no configuration: {tmp_path}/a.toml and b.toml: no such file"
    )
    assert refused([]) == "no configuration: no path given: no such file"
    for name, data, told in (
        ("a.ini", b"", "expected a file of type .toml, .json, .yaml, .yml"),
        ("a.json", b"[]", "expected keys and values, not list"),
        ("a.json", b"\xff{}", "byte 0 is not UTF-8"),
        ("b.json", b"[" * 100_000, "nested more than 100 levels deep: flatten it"),
        ("a.yaml", b"- a", "expected keys and values, not list"),
    ):
        (tmp_path / name).write_bytes(data)
        assert refused(tmp_path / name) == f"{tmp_path / name}: {told}"


@pytest.mark.parametrize("suffix", [".toml", ".yaml"])
def test_a_file_that_says_nothing(suffix: str, tmp_path: Path):
    path = tmp_path / f"config{suffix}"
    path.write_text("# nothing yet\n")
    assert load(path).llm == LLMConfig()


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="the administrator may read everything"
)
def test_a_file_that_may_not_be_read(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text("")
    path.chmod(0)
    assert refused(path) == f"{path}: cannot be read: Permission denied"
