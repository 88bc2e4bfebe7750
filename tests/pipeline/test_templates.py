"""Templates: what is put in place, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.errors import PipelineError
from wire.pipeline.templates import keys_of, render

CONTEXT = {
    "seed": "a poem",
    "n": 3,
    "yes": True,
    "none": None,
    "list": ["a", 1],
    "a.b": "dotted",
    "tricky": "{{.seed}} $goal \\1 \\g<0>",
}


@pytest.mark.row("P-50", "S4-41")
@joined(
    ("text", "expected"),
    [
        ("no place", "no place"),
        ("", ""),
        ("{{.seed}}", "a poem"),
        ("{{ .seed }}", "a poem"),
        ("{{\n.seed\t}}", "a poem"),
        ("<{{.seed}}{{.n}}>", "<a poem3>"),
        ("{{.yes}} {{.none}} {{.list}} {{.a.b}}", 'true  ["a", 1] dotted'),
        ("{{.tricky}}", "{{.seed}} $goal \\1 \\g<0>"),
        ('{"a": {"b": 1}} { {.seed} }', '{"a": {"b": 1}} { {.seed} }'),
        ("$5 and $goal", "$5 and $goal"),
    ],
)
def test_keys_are_replaced_by_their_values(text: str, expected: str):
    assert render(text, CONTEXT) == expected


@pytest.mark.row("P-51")
def test_a_missing_key_names_node_and_key():
    with pytest.raises(PipelineError) as caught:
        render("Hello {{ .name }}!", CONTEXT, node="greet")
    assert (
        caught.value.message
        == "node 'greet': the template uses {{ .name }}, but nothing has set 'name'"
    )
    with pytest.raises(PipelineError, match=r"^the template uses \{\{\.context\.seed\}\}"):
        render("{{.context.seed}}", CONTEXT)


@pytest.mark.row("P-52")
@joined(
    "place",
    [
        *(
            "{{seed}}",
            "{{.}}",
            "{{}}",
            "{{ }}",
            "{{.seed | upper}}",
            "{{if .seed}}",
            "{{range .list}}",
            "{{end}}",
            "{{- .seed -}}",
            "{{.a..b}}",
        ),
        *(
            "{{.seed.}}",
            '{{"{{"}}',
            "{{/* note */}}",
            "{{$x}}",
            "{{.a-b}}",
            "{{. seed}}",
            "{{{.seed}}}",
            "{{.seed}",
        ),
    ],
)
def test_more_than_a_key_is_unsupported(place: str):
    for call in (
        lambda: render(f"x {place}", CONTEXT, node="plan"),
        lambda: keys_of(f"x {place}", node="plan"),
    ):
        with pytest.raises(PipelineError) as caught:
            call()
        closed = "}}" in place
        assert caught.value.message.startswith(
            f"node 'plan': {'unsupported template syntax ' if closed else 'a template'}"
        )


@pytest.mark.row("P-52")
def test_what_is_told():
    with pytest.raises(PipelineError) as caught:
        render("{{.seed | upper}}", CONTEXT, node="plan")
    assert (
        caught.value.message
        == "node 'plan': unsupported template syntax '{{.seed | upper}}': only {{.key}} is"
    )
    with pytest.raises(PipelineError) as caught:
        render("text {{.seed", CONTEXT)
    assert caught.value.message == "a template's {{ is not closed"


@pytest.mark.row("P-53")
def test_goal_is_replaced_if_there_is_one():
    assert (
        render("$goal, ${goal} $goals $goal_x $goal.", {}, goal="win")
        == "win, ${goal} $goals $goal_x win."
    )
    assert render("$goal", {}, goal="") == ""
    assert render("$goal {{.x}}", {"x": "$goal"}, goal="{{.x}}") == "{{.x}} $goal"


@pytest.mark.row("P-110")
def test_keys_of_a_template():
    assert keys_of("{{.b}} $goal {{ .a }} {{.b}} {{.c.d}}") == ["b", "a", "c.d"]
    assert keys_of("$goal") == []


@pytest.mark.row("P-50")
@given(
    st.dictionaries(st.from_regex(r"[A-Za-z0-9_]{1,5}", fullmatch=True), st.text(), min_size=1),
    st.lists(st.text()),
)
def test_values_are_put_in_once_and_as_they_are(context: dict[str, Any], between: list[str]):
    between = [text.replace("{", "(").replace("$", "S") for text in between]
    keys = [sorted(context)[index % len(context)] for index in range(len(between))]
    text = "".join(f"{before}{{{{ .{key} }}}}" for before, key in zip(between, keys, strict=True))
    assert render(text, context) == "".join(
        before + context[key] for before, key in zip(between, keys, strict=True)
    )
    assert keys_of(text) == list(dict.fromkeys(keys))


@pytest.mark.row("P-52")
@given(
    st.lists(st.sampled_from(["{{", "}}", ".", "a", " ", "$goal", "{", "}", "|", "\n"])).map(
        "".join
    )
)
def test_garbage_gives_errors_of_ours_and_nothing_else(text: str):
    told = ""
    try:
        assert "{{" not in render(text, {"a": "A"}, goal="G", node="n")
    except PipelineError as problem:
        told = problem.message
    assert told == "" or told.startswith("node 'n': ")
