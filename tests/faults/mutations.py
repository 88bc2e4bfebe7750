"""Received bodies with one or two faults each, made from recorded ones with a seed.

`mutated(body, dice)` changes a body as JSON text: it puts another value in the place of one value,
swaps, doubles or empties keys, nests values deeply; or as bytes: it cuts, doubles, removes and
inserts. The same seed gives the same bytes.
"""

from __future__ import annotations

import re
from random import Random

_DEEP = 2000
_DIGITS = 5000
"""Python refuses to convert more than 4,300 digits to an integer."""

VALUES: tuple[bytes, ...] = (
    b"null",
    b"true",
    b"false",
    b"0",
    b"-0",
    b"-0.0",
    b"-1",
    b"3.0",
    b"0.5",
    b"1e999",
    b"-1e999",
    b"1e-999",
    b"1E400",
    b"9007199254740993",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"9" * _DIGITS,
    b"-" + b"9" * _DIGITS,
    b"0." + b"1" * _DIGITS,
    b"1" + b"0" * 400,
    b"1e" + b"9" * 30,
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b'""',
    b'" "',
    b'"null"',
    b'"NaN"',
    b'"a"',
    b'"0"',
    b'"1.5"',
    b'"' + b"9" * _DIGITS + b'"',
    b'"\\ud83d"',
    b'"\\ude00"',
    b'"a\\ud83d\\u0041"',
    b'"\\ude00\\ud83d"',
    b'"\\u0000"',
    b'"\\u001b[31m"',
    b'"\x00"',
    b'"\x1b"',
    b'"\n"',
    b'"\r"',
    b'"\xff\xfe"',
    b'"\xed\xa0\xbd"',
    b'"\xe2\x80\xa8"',
    b'"\\x"',
    b'"\\u12"',
    b'"' + b"x" * 3000 + b'"',
    b"[]",
    b"{}",
    b"[[]]",
    b"[{}]",
    b"[null]",
    b"[0]",
    b'[""]',
    b'["a",1,null,{}]',
    b"[NaN]",
    b'[{"index":null}]',
    b'{"":0}',
    b'{"\\ud83d":1}',
    b'{"a":{"b":[NaN,1e999]}}',
    b'{"type":"text","text":"t"}',
    b'{"type":null,"text":1}',
    b'{"error":{"code":"x","message":{"a":[]}}}',
    b'{"error":1}',
    b'{"a":1,"a":2}',
    b"[" * 100 + b"]" * 100,
    b'{"a":' * 100 + b"1" + b"}" * 100,
    b"[" * 505 + b"]" * 505,
    b"[" * _DEEP + b"]" * _DEEP,
    b'{"a":' * _DEEP + b"1" + b"}" * _DEEP,
    b"[" * 100_000,
    b"undefined",
    b"'a'",
    b"",
)
"""Values in the place of a value: other types, odd numbers, malformed text, deep nesting."""

KEYS: tuple[bytes, ...] = (
    b'""',
    b'"error"',
    b'"type"',
    b'"index"',
    b'"id"',
    b'"text"',
    b'"content"',
    b'"usage"',
    b'"message"',
    b'"delta"',
    b'"new"',
    b'"\x7fextra"',
    b'"__class__"',
    b'"a.b[0]"',
    b'"0"',
    b'"\\ud83d"',
    b'"\x00"',
    b'"\xff"',
    b"1",
    b"null",
)
"""Keys in the place of a key."""

BYTES: tuple[bytes, ...] = (
    b"\x00",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"\xfe\xff",
    b"\r",
    b"\n",
    b"\r\n\r\n",
    b"\n\n",
    b"\x1b[2J",
    b"\xe2\x80\xa8",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b"\\",
    b"\\u",
    b"\\ud800",
    b",",
    b":",
    b"data:",
    b"\ndata: {}\n\n",
    b"\ndata: [DONE]\n\n",
    b"\ndata: null\n\n",
    b"\nevent: error\ndata: {\n\n",
    b"\nevent: ping\n\n",
    b"\nid: \x00\nretry: " + b"9" * _DIGITS + b"\n",
    b": comment\n",
    b"<html>",
    b"NaN",
    b"9" * _DIGITS,
)
"""Bytes inserted at any position."""

_TOKEN = re.compile(rb'"(?:[^"\\\r\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[{\[]')
_CLOSING = {b"{": b"}", b"[": b"]"}


def mutated(body: bytes, dice: Random) -> bytes:
    """The body with one or two faults."""
    for _ in range(dice.choice((1, 1, 2))):
        body = _of_json(body, dice) if dice.random() < 0.7 else _of_bytes(body, dice)
    return body


def _of_json(body: bytes, dice: Random) -> bytes:
    tokens = list(_TOKEN.finditer(body))
    if not tokens:
        return _of_bytes(body, dice)
    token = dice.choice(tokens)
    start, end = token.span()
    if body[end : end + 2].lstrip()[:1] == b":":
        keys = [each for each in tokens if body[each.end() : each.end() + 2].lstrip()[:1] == b":"]
        other = dice.choice(keys).group() if dice.random() < 0.5 else dice.choice(KEYS)
        if dice.random() < 0.2:  # the key twice
            other = token.group() + b":" + dice.choice(VALUES) + b"," + token.group()
        return body[:start] + other + body[end:]
    if token.group() in _CLOSING:
        end = _end(body, start)
    what = dice.random()
    if what < 0.75:
        value = dice.choice(VALUES)
    elif what < 0.85:
        value = dice.choice(tokens).group()
    elif what < 0.95:
        value = b"[" + body[start:end] + b"," + body[start:end] + b"]"
    else:
        value = b'{"value":' + body[start:end] + b"}"
    return body[:start] + value + body[end:]


def _end(body: bytes, start: int) -> int:
    """The end of the object or list that begins at `start`, or of its line."""
    depth, at = 0, start
    for match in re.finditer(rb'"(?:[^"\\\r\n]|\\.)*"|[{}\[\]]', body[start:]):
        if match.group() in (b"{", b"["):
            depth += 1
        elif match.group() in (b"}", b"]"):
            depth -= 1
        at = start + match.end()
        if depth == 0:
            return at
    return max(at, start + 1)


def _of_bytes(body: bytes, dice: Random) -> bytes:
    start = dice.randrange(len(body) + 1)
    end = min(len(body), start + dice.choice((1, 2, 10, 100, 1000)))
    what = dice.randrange(6)
    if what == 0:
        return body[:start]
    if what == 1:
        return body[start:]
    if what == 2:
        return body[:end] + body[start:end] + body[end:]
    if what == 3:
        return body[:start] + body[end:]
    if what == 4 and start < len(body):
        return body[:start] + bytes([dice.randrange(256)]) + body[start + 1 :]
    return body[:start] + dice.choice(BYTES) + body[start:]
