"""What this library is guarded against, by what, and which tests show it: the table of
`docs/guide/security.md`, which `python -m tests.pages` writes.

A row is a threat, its guard, the promise of `docs/reliability.md` if it has one, and tests as
`folder/test_file.py::test_name`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.faults.promises import PROMISES, ROOT


class Threat(NamedTuple):
    """One row of the table."""

    threat: str
    guard: str
    promise: str
    tests: tuple[str, ...]


THREATS = (
    Threat(
        "A key is read in a URL, a message, a log, a pickle or a file",
        "it travels in a header, and everything that shows or stores has `***`",
        "R-28",
        (
            "http/test_target.py::test_the_key_travels_in_a_header_and_not_in_the_url",
            "http/test_promises.py::test_no_key_in_what_is_shown",
            "testing/cassette/test_secrets.py::test_a_known_key_is_found_wherever_it_stands",
        ),
    ),
    Threat(
        "A key goes to another host, or in the open",
        "https to the host of its own provider; plain http and foreign hosts are refused",
        "R-31",
        (
            "wires/test_providers.py::test_a_key_of_the_environment_goes_to_no_foreign_host",
            "wires/test_providers.py::test_http_takes_no_key_out_of_the_house",
        ),
    ),
    Threat(
        "Credentials of a cloud are sent or signed for another host",
        "signed for the host of the client alone; URLs of servers get none, and those of the "
        "environment go to no host of another vendor",
        "R-31",
        (
            "auth/test_signed_calls.py::test_nothing_is_signed_for_a_url_of_a_server",
            "auth/test_aws.py::test_credentials_of_the_environment_go_to_no_foreign_host",
        ),
    ),
    Threat(
        "A server of tokens repeats a secret, or answers without end",
        "what was sent is hidden in its words; 1 MiB and 30 s at most",
        "R-29",
        (
            "auth/test_workload.py::test_a_refusal_hides_the_token_of_the_other_issuer",
            "auth/test_sockets.py::test_an_answer_that_is_too_large",
        ),
    ),
    Threat(
        "A file of credentials names a server of an attacker",
        "https for what gets a secret; plain http only to loopback and metadata servers",
        "R-31",
        (
            "auth/test_google.py::test_a_file_that_is_none",
            "auth/test_aws.py::test_a_bad_environment",
        ),
    ),
    Threat(
        "A server redirects a request",
        "redirects are an error",
        "R-30",
        ("http/test_retries.py::test_no_redirect_is_followed",),
    ),
    Threat(
        "A server directs an upload to this machine or a private network",
        "the host of the URL is judged before it is asked",
        "R-31",
        (
            "http/test_flows.py::test_an_upload_into_a_private_network_is_refused",
            "core/test_hosts.py::test_private_hosts",
        ),
    ),
    Threat(
        "Somebody on the way reads or answers the calls",
        "certificates are verified, and a transport that does not is told in three places",
        "R-32",
        (
            "faults/test_connections.py::test_a_certificate_that_nobody_signed",
            "http/test_certificates.py::test_checks_that_are_off_are_told_once",
        ),
    ),
    Threat(
        "A server sends too much: bytes, events, depth, compressed bombs",
        "`Limits`, each with a default",
        "R-10",
        (
            "core/test_limits.py::test_a_bomb_is_refused_before_it_has_gone_off",
            "core/test_limits.py::test_json_that_is_nested_too_deeply",
        ),
    ),
    Threat(
        "A server sends nothing, or a byte now and then",
        "four clocks, which bytes that complete no event do not reset",
        "R-13",
        ("http/test_clocks.py::test_a_proxy_that_drips",),
    ),
    Threat(
        "A server sends what no parser expects",
        "a value, or one error of `wire.errors`",
        "R-44",
        ("faults/test_mutated.py::test_a_sample_of_mutated_answers",),
    ),
    Threat(
        "Bytes after a response become the next one",
        "a connection that has any is not used again",
        "R-25",
        ("http/test_kept_connections.py::test_a_forged_response_is_never_the_next_one",),
    ),
    Threat(
        "A model or a server writes what a terminal obeys",
        "control characters are shown as escapes",
        "R-34",
        (
            "core/test_printable.py::test_log_records_hold_no_control_characters",
            "pipeline/test_cli.py::test_no_control_character_of_a_model_reaches_the_terminal",
        ),
    ),
    Threat(
        "Prompts, answers and messages of tools and servers get into the log",
        "they are at DEBUG alone; above it stand classes of errors, and lines of code",
        "R-33",
        ("test_texts_in_logs.py::test_a_text_of_others_is_in_no_record_above_debug",),
    ),
    Threat(
        "A model calls a tool that it should not",
        "`approve`, and only `True` is a yes",
        "",
        ("agent/test_tool_calls.py::test_only_true_approves",),
    ),
    Threat(
        "A model leads the tools for files out of their folder",
        "paths and symlinks that lead out are refused, also while they are replaced",
        "",
        (
            "pipeline/test_workspace.py::test_what_is_outside_is_not_read_and_not_written",
            "pipeline/test_workspace.py::test_whatever_links_there_are_nothing_outside_is_reached",
        ),
    ),
    Threat(
        "A command reads the keys in its environment, or does not end",
        "it gets no variable with a credential, and is killed with what it started",
        "R-28",
        (
            "pipeline/test_environment.py::test_a_command_finds_no_credential_in_a_fresh_process",
            "pipeline/test_workspace.py::test_a_command_over_its_time_is_killed_with_all_that_it_started",
        ),
    ),
    Threat(
        "Another user of the machine reads or replaces files",
        "mode 0600 from the first byte, whole or not at all, only regular files",
        "",
        (
            "core/test_files.py::test_files_and_folders_are_private_from_the_first_byte_whatever_the_umask",
            "core/test_files.py::test_only_regular_files_are_replaced",
        ),
    ),
    Threat(
        "Connections that ask nothing shut the clients of a server out",
        "one of them gives way to each new one; clocks for head, body, idleness and reading",
        "",
        (
            "testing/emulator/test_floods.py::test_clients_are_answered_beside_two_hundred_heads_that_never_end",
            "testing/emulator/test_crowd.py::test_there_are_never_more_than_there_are_places",
            "testing/emulator/test_hostile_clients.py::test_slow_clients_are_disconnected_and_others_are_served",
            "testing/emulator/test_hostile_clients.py::test_no_file_descriptor_is_left_for_a_while",
        ),
    ),
    Threat(
        "Clients that do not read fill the memory of a server",
        "each write has a clock, responses in memory a limit, and the kernel 256 KiB for each",
        "",
        (
            "testing/emulator/test_hostile_clients.py::test_a_client_that_reads_nothing_gives_way_to_other_responses",
            "testing/emulator/test_hostile_clients.py::test_a_response_that_was_not_read_is_freed_with_its_connection",
        ),
    ),
    Threat(
        "A request is smuggled past a proxy, or has thousands of headers",
        "two lengths, and what is over `EmulatorLimits`, are refused",
        "",
        (
            "testing/emulator/test_hostile_clients.py::test_odd_http",
            "testing/emulator/test_hostile_clients.py::test_a_head_of_thousands_of_headers_is_refused_while_others_are_served",
        ),
    ),
    Threat(
        "Others use the key of the gateway",
        "other machines need a key; web pages are refused without one",
        "",
        (
            "serving/test_server.py::test_other_machines_need_a_key",
            "serving/test_server.py::test_web_pages_may_not_use_a_gateway_without_a_key",
        ),
    ),
    Threat(
        "A web page steers the emulator",
        "names of this machine alone may",
        "",
        ("testing/emulator/test_control.py::test_a_page_from_elsewhere_cannot_steer",),
    ),
    Threat(
        "A package that this one needs, or its build, is not what it seems",
        "few dependencies, no code at install, the same wheel each time, a list (`make sbom`)",
        "R-35",
        (
            "test_packaging.py::test_a_wheel_is_the_same_each_time_and_runs_nothing_at_install",
            "test_sbom.py::test_the_bill_has_what_the_project_needs",
        ),
    ),
)

NOT_GUARDED = (
    "**What a tool or a command of yours does.** Neither is a sandbox.",
    "**Instructions in data.** A model may follow them, and call a tool that it was given.",
    "**Names that resolve to private addresses**, and a resolver that lies.",
    "**Certificates that you have switched off.** It is told and not refused.",
    "**A key of the gateway that was given away.** There is one for all clients, without "
    "quotas: who has it can use up the connections to the backend and your money.",
    "**Floods of whole requests.** A request under way never gives way. A client of the gateway "
    "can hold as many as `max_connections_per_peer`, and many addresses together all places.",
    "**TLS of the servers.** Gateway and emulator speak plain HTTP; put a proxy with TLS before "
    "them for other machines, which also limits rates.",
    "**More connections in a moment than the system keeps for `accept`**: 4,096, or "
    "`net.core.somaxconn` if it is lower. The system of a client asks again after a second.",
    "**Who may read the memory of the process**, or its swap: keys are in it.",
    "**A debugger, a transport, a hook or a logging handler of yours**: they see what you see.",
    "**Python without the GIL**: no suite has run there. On Python 3.14 the ordinary tests ran on "
    "2026-11-29, and nothing else. What else ran is in "
    "[What was verified](../project/verified.md): 3.11, 3.12 and 3.13, the lowest versions of the "
    "dependencies on 3.11.",
)


def missing() -> list[str]:
    """The tests of the table that do not exist, and the promises."""
    found = [each.promise for each in THREATS if each.promise and each.promise not in PROMISES]
    for name in (name for each in THREATS for name in each.tests):
        path, _, function = name.partition("::")
        file = ROOT / "tests" / path
        pattern = rf"^(?:async )?def {re.escape(function)}\("
        if not file.exists() or not re.search(pattern, file.read_text("utf-8"), re.MULTILINE):
            found.append(name)
    return found


def page() -> str:
    """The table and the list, as they stand in `docs/guide/security.md`."""
    rows = [
        f"| {each.threat} | {each.guard} | {each.promise} | "
        f"{', '.join(f'`{name}`' for name in each.tests)} |"
        for each in THREATS
    ]
    return "\n".join(
        [
            "## Threats, guards and tests",
            "",
            "Tests are functions below `tests/`; the promises are those of "
            "[Reliability](../reliability.md).",
            "",
            "| threat | guard | promise | tests |",
            "|---|---|---|---|",
            *rows,
            "",
            "## What is not guarded against",
            "",
            *(f"- {each}" for each in NOT_GUARDED),
            "",
        ]
    )
