from __future__ import annotations

import copy
import pickle
import random
import typing
from typing import Any, ClassVar

import msgspec
import pytest

from tests.joined import joined
from wire import anthropic, gemini, openai
from wire.core import memory
from wire.core.memory import (
    FrozenDict,
    FrozenList,
    Note,
    Noted,
    Slice,
    WireStruct,
    encode,
    freeze,
    notes,
    remember,
    unknown,
    with_notes,
)
from wire.openai import responses


class Part(WireStruct, rename="camel"):
    remembers: ClassVar[bool] = True
    text: str | None = None
    thought_signature: str | None = None
    args: dict[str, Any] | None = None


class Turn(WireStruct, rename="camel"):
    remembers: ClassVar[bool] = True
    role: str | None = None
    parts: list[Part] | None = None
    first_part: Part | None = None


class Request(WireStruct, rename="camel"):
    remembers: ClassVar[bool] = True
    model: str | None = None
    turns: list[Turn] | None = None
    last_turn: Turn | None = None
    by_name: dict[str, Part] | None = None
    nested: dict[str, list[list[Part]]] | None = None
    either: Part | str | None = None
    anything: Any = None


RAW = b'{ "text" : "a\\u00e9", "later": [1, {"x": 2.50}], "text2":null }'
"""White space, an escape, a number and keys that encoding anew would not give back."""


def received(raw: bytes = RAW, cls: type[WireStruct] = Part) -> Any:
    return remember(freeze(msgspec.json.decode(raw, type=cls)), raw)


# --- remembering ----------------------------------------------------------------------------------


def test_what_came_remembers_its_bytes():
    assert received().raw == RAW
    assert type(received().raw) is bytes


def test_what_was_built_remembers_nothing():
    assert Part(text="a").raw is None


def test_remember_gives_the_same_struct_back():
    part = Part(text="a")
    assert remember(part, RAW) is part


def test_a_view_does_not_keep_the_whole_buffer_alive():
    body = bytearray(b'[{"text":"a"},' + b" " * 100_000 + b"1]")
    part = remember(Part(text="a"), msgspec.json.decode(body, type=list[msgspec.Raw])[0])
    body.clear()  # a BufferError as long as somebody looks at it
    assert part.raw == b'{"text":"a"}'


def test_replace_forgets():
    changed = msgspec.structs.replace(received(), text="b")
    assert changed.raw is None
    assert encode(changed) == b'{"text":"b"}'


def test_equality_and_repr_do_not_see_it():
    assert received() == Part(text="aé")
    assert repr(received()) == "Part(text='aé')"
    assert hash(received()) == hash(Part(text="aé"))


def test_plain_encoding_does_not_see_it():
    assert msgspec.json.encode(received()) == '{"text":"aé"}'.encode()


@joined(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        *(
            lambda x, p=p: pickle.loads(pickle.dumps(x, p))
            for p in range(2, pickle.HIGHEST_PROTOCOL + 1)
        ),
    ],
    ids=["copy", "deepcopy", *(f"pickle-{p}" for p in range(2, pickle.HIGHEST_PROTOCOL + 1))],
)
def test_copies_keep_it(copied):
    request = with_notes(
        received(b'{"turns":[{"parts":[{"text":"a","x":1}]}]}', Request), [Note("a", "b")]
    )
    twin = copied(request)
    assert (twin, type(twin), twin.raw, notes(twin)) == (
        request,
        Request,
        request.raw,
        notes(request),
    )
    assert type(twin.turns) is FrozenList


def test_fields_cannot_be_set():
    with pytest.raises(AttributeError):
        received().text = "b"


def test_absent_fields_are_not_sent():
    assert encode(Turn(role="user", parts=[])) == b'{"role":"user","parts":[]}'


# --- encode ---------------------------------------------------------------------------------------

PART = Part(text="b")
BUILT = b'{"text":"b"}'

# (name, value, bytes)
ENCODED: list[tuple[str, Any, bytes]] = [
    ("itself", received(), RAW),
    (
        "nothing-remembered",
        Request(model="m", turns=[Turn(parts=[PART])]),
        b'{"model":"m","turns":[{"parts":[%s]}]}' % BUILT,
    ),
    ("field", Turn(role="user", first_part=received()), b'{"role":"user","firstPart":%s}' % RAW),
    (
        "list-field",
        Turn(parts=[PART, received(), PART]),
        b'{"parts":[%s,%s,%s]}' % (BUILT, RAW, BUILT),
    ),
    (
        "list-in-struct-in-list",
        Request(turns=[Turn(role="a"), Turn(parts=[received()])]),
        b'{"turns":[{"role":"a"},{"parts":[%s]}]}' % RAW,
    ),
    (
        "struct-in-struct",
        Request(last_turn=Turn(first_part=received())),
        b'{"lastTurn":{"firstPart":%s}}' % RAW,
    ),
    (
        "dict-field",
        Request(by_name={"x": received(), "y": PART}),
        b'{"byName":{"x":%s,"y":%s}}' % (RAW, BUILT),
    ),
    (
        "dict-of-lists-of-lists",
        Request(nested={"x": [[], [PART, received()]]}),
        b'{"nested":{"x":[[],[%s,%s]]}}' % (BUILT, RAW),
    ),
    ("union-field", Request(either=received()), b'{"either":%s}' % RAW),
    ("plain-list", [PART, [received()]], b"[%s,[%s]]" % (BUILT, RAW)),
    ("plain-dict", {"a": {"b": received()}}, b'{"a":{"b":%s}}' % RAW),
    ("tuple", (PART, received()), b"[%s,%s]" % (BUILT, RAW)),
    ("tuple-in-list-field", Turn(parts=(PART, received())), b'{"parts":[%s,%s]}' % (BUILT, RAW)),
    ("noted-list", Turn(parts=Noted([received()], [Note("", "x")])), b'{"parts":[%s]}' % RAW),
    ("outer-bytes-win", received(b'{"parts": [{"text":"a"}]}', Turn), b'{"parts": [{"text":"a"}]}'),
    ("scalars", [1, "a", None, True, 1.5], b'[1,"a",null,true,1.5]'),
]


@joined(("value", "sent"), [row[1:] for row in ENCODED], ids=[row[0] for row in ENCODED])
def test_remembered_bytes_stand_in_place_of_encoding(value: Any, sent: bytes):
    assert encode(value) == sent


def some_value(rng: random.Random, depth: int) -> Any:
    """A value that may hold received structs at any depth, next to values of other types."""
    several = [some_value(rng, depth - 1) for _ in range(rng.randrange(4))] if depth else []
    kept = received()
    if rng.random() < 0.4:
        vars(kept)[memory.RAW] = Slice(lambda: msgspec.Raw(RAW))
    return rng.choice(
        (
            *(kept, PART, None, "a", several, tuple(several), dict(enumerate(several))),
            Request(either=kept, turns=[Turn(), Turn(parts=[PART, kept])]),
            Request(by_name={"x": PART, "y": kept}, nested={"z": [[], [kept]]}, anything=[1]),
        )
    )


def one_by_one(value: Any) -> Any:
    """The value with bytes in place of received structs."""
    if isinstance(value, WireStruct):
        if value.raw is not None:
            return msgspec.Raw(value.raw)
        fields = {name: one_by_one(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    if isinstance(value, dict):
        return {key: one_by_one(item) for key, item in value.items()}
    return list(map(one_by_one, value)) if isinstance(value, (list, tuple)) else value


def test_values_that_are_searched_at_once_are_sent_as_one_by_one():
    for seed in range(500):
        value = some_value(random.Random(seed), 3)
        assert encode(value) == msgspec.json.encode(one_by_one(value)), seed


def test_a_list_that_contains_itself_is_refused():
    endless: list[Any] = []
    endless += [endless, {"a": endless, "b": endless}, PART]
    with pytest.raises(RecursionError):
        encode(endless)


def test_encoding_leaves_the_value_as_it_was():
    turns, part = [Turn(parts=[received()])], received()
    request = Request(turns=turns, either=part)
    encode(request)
    assert (request.turns is turns, request.either is part, turns[0].parts[0].raw) == (
        True,
        True,
        RAW,
    )


@pytest.mark.parametrize(
    ("value", "error"),
    [({1j}, TypeError), (object(), TypeError), ("\ud800", UnicodeEncodeError)],
    ids=["set", "object", "surrogate"],
)
def test_what_json_has_not_is_refused(value: object, error: type[Exception]):
    with pytest.raises(error):
        encode({"a": value})


# --- frozen lists and dicts -----------------------------------------------------------------------

FROZEN = freeze({"list": [3, {"a": [1]}], "dict": {"b": {"c": 2}}})


def setitem(target: Any, key: Any) -> None:
    target[key] = 1


def delitem(target: Any, key: Any) -> None:
    del target[key]


def iadd(target: Any) -> None:
    target += [1]


def imul(target: Any) -> None:
    target *= 2


def ior(target: Any) -> None:
    target |= {"x": 1}


LIST_CHANGES = {
    "append": lambda x: x.append(1),
    "extend": lambda x: x.extend([1]),
    "insert": lambda x: x.insert(0, 1),
    "remove": lambda x: x.remove(3),
    "pop": lambda x: x.pop(),
    "clear": lambda x: x.clear(),
    "sort": lambda x: x.sort(key=str),
    "reverse": lambda x: x.reverse(),
    "setitem": lambda x: setitem(x, 0),
    "set-slice": lambda x: setitem(x, slice(0, 0)),
    "delitem": lambda x: delitem(x, 0),
    "iadd": iadd,
    "imul": imul,
}
DICT_CHANGES = {
    "setitem": lambda x: setitem(x, "x"),
    "delitem": lambda x: delitem(x, "b"),
    "pop": lambda x: x.pop("b"),
    "pop-default": lambda x: x.pop("x", None),
    "popitem": lambda x: x.popitem(),
    "clear": lambda x: x.clear(),
    "update": lambda x: x.update(x=1),
    "setdefault": lambda x: x.setdefault("b", 1),
    "ior": ior,
}


@joined("change", LIST_CHANGES.values(), ids=LIST_CHANGES.keys())
@joined("place", [("list",), ("list", 1, "a")], ids=["outer", "inner"])
def test_a_frozen_list_refuses_every_change(change, place: tuple[Any, ...]):
    found = FROZEN
    for step in place:
        found = found[step]
    before = list(found)
    with pytest.raises(TypeError, match="a received value is read-only"):
        change(found)
    assert found == before


@joined("change", DICT_CHANGES.values(), ids=DICT_CHANGES.keys())
@joined("place", ["outer", "inner"])
def test_a_frozen_dict_refuses_every_change(change, place: str):
    found = FROZEN if place == "outer" else FROZEN["dict"]
    before = dict(found)
    with pytest.raises(TypeError, match="a received value is read-only"):
        change(found)
    assert found == before


def test_no_method_that_changes_is_left_over():
    """New ones of a later Python would be found here: what lists and dicts can do and their
    unchanging cousins cannot.
    """
    reading = {
        "copy",
        "__reversed__",
        "__class_getitem__",
        "fromkeys",
        "get",
        "items",
        "keys",
        "values",
        "__or__",
        "__ror__",
        "__getitem__",
    }
    left = {
        (plain.__name__, name)
        for plain, frozen, cousin in ((list, FrozenList, tuple), (dict, FrozenDict, frozenset))
        for name in set(dir(plain)) - set(dir(cousin)) - reading
        if getattr(frozen, name) is getattr(plain, name)
    }
    assert left == set()


def test_frozen_ones_equal_and_encode_as_the_plain_ones():
    plain = {"list": [3, {"a": [1]}], "dict": {"b": {"c": 2}}}
    assert plain == FROZEN
    assert encode(FROZEN) == msgspec.json.encode(FROZEN) == msgspec.json.encode(plain)
    assert repr(FROZEN) == repr(plain)


@pytest.mark.parametrize(
    "copied",
    [copy.copy, lambda x: x.copy(), lambda x: type(x).__bases__[0](x)],
    ids=["copy.copy", "method", "constructor"],
)
def test_a_shallow_copy_may_be_changed(copied):
    changed_list, changed_dict = copied(FROZEN["list"]), copied(FROZEN["dict"])
    changed_list.append(1)
    changed_dict["x"] = 1
    assert (len(changed_list), len(FROZEN["list"]), set(changed_dict), set(FROZEN["dict"])) == (
        3,
        2,
        {"b", "x"},
        {"b"},
    )


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"]
)
def test_a_whole_copy_is_frozen_as_well(copied):
    twin = copied(FROZEN)
    assert twin == FROZEN
    assert (type(twin), type(twin["list"]), type(twin["list"][1]["a"])) == (
        FrozenDict,
        FrozenList,
        FrozenList,
    )


def test_freeze_goes_into_structs():
    request = freeze(
        Request(turns=[Turn(parts=[Part(args={"a": [1]})])], by_name={"x": Part(args={"b": 2})})
    )
    inner = request.turns[0].parts[0].args
    kinds = [
        request.turns,
        request.turns[0].parts,
        inner,
        inner["a"],
        request.by_name,
        request.by_name["x"].args,
    ]
    assert [type(each) for each in kinds] == [
        FrozenList,
        FrozenList,
        FrozenDict,
        FrozenList,
        FrozenDict,
        FrozenDict,
    ]


def test_freeze_leaves_scalars_alone():
    assert [freeze(value) for value in (1, "a", None)] == [1, "a", None]


# --- unknown --------------------------------------------------------------------------------------

UNKNOWN: list[tuple[str, bytes, list[tuple[str, Any]]]] = [
    ("nothing", b'{"model":"m","turns":[{"parts":[{"text":"a"}]}]}', []),
    ("top", b'{"model":"m","later":1}', [("later", 1)]),
    ("value-whole", b'{"later":{"a":[1,null]}}', [("later", {"a": [1, None]})]),
    (
        "in-struct",
        b'{"lastTurn":{"x":1,"firstPart":{"y":null}}}',
        [("lastTurn.x", 1), ("lastTurn.firstPart.y", None)],
    ),
    ("in-lists", b'{"turns":[{},{"parts":[{"text":"a"},{"x":1}]}]}', [("turns[1].parts[1].x", 1)]),
    ("in-dict", b'{"byName":{"a":{},"b":{"x":1}}}', [("byName.b.x", 1)]),
    ("in-dict-of-lists-of-lists", b'{"nested":{"a":[[],[{},{"x":1}]]}}', [("nested.a[1][1].x", 1)]),
    ("plain-arguments-are-known", b'{"byName":{"a":{"args":{"x":{"y":1}}}}}', []),
    ("python-name-is-unknown", b'{"last_turn":{}}', [("last_turn", {})]),
    ("null-of-a-field-says-nothing", b'{"turns":null,"x":null}', [("x", None)]),
    ("document-order", b'{"z":1,"turns":[{"y":2}],"a":3}', [("z", 1), ("turns[0].y", 2), ("a", 3)]),
]


@joined(("raw", "found"), [row[1:] for row in UNKNOWN], ids=[row[0] for row in UNKNOWN])
def test_unknown(raw: bytes, found: list[tuple[str, Any]]):
    assert unknown(received(raw, Request)) == found


def test_a_value_that_was_left_out_for_its_type_is_told():
    read = remember(Request(model="m"), b'{"model":"m","turns":"none"}')
    assert unknown(read) == [("turns", "none")]


def test_what_was_built_has_no_unknown_keys():
    assert unknown(Part(text="a")) == []


# --- notes ----------------------------------------------------------------------------------------


def test_notes_of_a_struct_lie_beside_it():
    part = Part(text="a")
    assert with_notes(part, iter([Note("a.b", "dropped"), Note("", "all")])) is part
    assert list(map(str, notes(part))) == ["a.b: dropped", "all"]
    assert (part, repr(part), encode(part)) == (Part(text="a"), "Part(text='a')", b'{"text":"a"}')


def test_notes_of_a_list():
    turns = Noted(iter([1, 2]), iter([Note("a", "dropped")]))
    assert (turns, notes(turns)) == ([1, 2], (Note("a", "dropped"),))


@joined("built", [Part(), with_notes(Part(), []), Noted(), [], {}, None, "a"], ids=range(7))
def test_nothing_changed_nothing_noted(built: object):
    assert notes(built) == ()


def test_keys_that_look_like_paths_stand_in_brackets():
    assert unknown(received(b'{"a.b":1,"x":{"c[0]":2},"turns":[{"d.e":3}]}', Request)) == [
        ('["a.b"]', 1),
        ("x", {"c[0]": 2}),
        ('turns[0]["d.e"]', 3),
    ]


def test_a_slice_is_cut_out_once_and_when_it_is_wanted():
    asked: list[int] = []

    def cut(begin: int) -> msgspec.Raw:
        asked.append(begin)
        return msgspec.Raw((b"[" + RAW + b"]")[begin:-1])

    def lazy() -> Part:
        part = msgspec.json.decode(RAW, type=Part)
        vars(part)["_raw"] = Slice(cut, 1)
        return part

    part = lazy()
    assert asked == []
    assert (part.raw, part.raw, encode(part), encode([part])) == (RAW, RAW, RAW, b"[" + RAW + b"]")
    assert len(asked) == 1
    assert encode([lazy(), part, PART]) == b"[" + RAW + b"," + RAW + b"," + BUILT + b"]"
    assert encode(Turn(parts=[lazy()])) == b'{"parts":[' + RAW + b"]}"
    assert pickle.loads(pickle.dumps(lazy())).raw == RAW
    assert copy.deepcopy(lazy()).raw == RAW


def test_what_json_cannot_say_is_still_an_error_beside_slices():
    with pytest.raises(TypeError, match="object is unsupported"):
        encode([received(), object()])


# --- notes of a request and of its call -----------------------------------------------------------

CLOSED = {"type": "object", "additionalProperties": False, "properties": {"a": {"type": "string"}}}
DROPPED = "dropped, the Schema proto has no such keyword"


def test_a_request_and_its_call_report_what_their_builders_changed():
    request = gemini.GenerateContentRequest(
        contents=gemini.contents(
            "Hi",
            gemini.Content(
                role="model",
                parts=[gemini.Part(function_call=gemini.FunctionCall(name="f", id="1"))],
            ),
            "Well?",
        ),
        tools=[
            gemini.Tool(
                function_declarations=[
                    gemini.function_declaration("f", "d", CLOSED),
                    gemini.FunctionDeclaration(name="g", parameters=gemini.schema(CLOSED)),
                ]
            )
        ],
        generation_config=gemini.GenerationConfig(response_schema=gemini.schema(CLOSED)),
    )
    reported = [str(note) for note in notes(request)]
    assert reported == [
        "contents[2].parts[0]: the call of f has no result; an error was sent as its result",
        "contents[1].parts[0]: an unsigned call was given the documented placeholder",
        f"tools[0].functionDeclarations[0].parameters.additionalProperties: {DROPPED}",
        f"tools[0].functionDeclarations[1].parameters.additionalProperties: {DROPPED}",
        f"generationConfig.responseSchema.additionalProperties: {DROPPED}",
    ]
    for make in (gemini.generate_content, gemini.stream_generate_content):
        call = make("gemini-2.5-flash", request, checked=False)
        assert [str(note) for note in notes(call)] == reported


def test_a_request_that_nobody_changed_has_no_notes():
    request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
    assert notes(request) == notes(gemini.generate_content("gemini-2.5-flash", request)) == ()


# --- the structs that a field can hold ------------------------------------------------------------

WIRE_STRUCTS = [
    value
    for types in (anthropic.types, gemini.types, openai.types, responses.types)
    for name in types.__all__
    if isinstance(value := getattr(types, name), type) and issubclass(value, WireStruct)
]


def test_the_words_of_an_annotation_name_the_structs_of_its_type():
    assert len(WIRE_STRUCTS) > 300
    for cls in WIRE_STRUCTS:
        hints = typing.get_type_hints(cls)
        by_words = {name: {*found} for name, found in memory._structs_of_fields(cls).items()}
        by_types = {name: {*memory._structs(hints[name])} for name in cls.__struct_fields__}
        assert by_words == by_types, cls
