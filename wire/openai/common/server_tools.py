"""Tools that a host runs, as requests of chat completions and of Responses have them."""

from __future__ import annotations

from wire.neutral.server_tools import Form

_DOMAINS = {
    "allowed_domains": "filters.allowed_domains",
    "location": "user_location",
}

FORMS = {
    # --- chat completions
    "web_search_options": Form(
        kind="web_search",
        json={"web_search_options": {}},
        options={"location": "web_search_options.user_location.approximate"},
        in_body=True,
    ),
    "enable_search": Form(kind="web_search", json={"enable_search": True}, in_body=True),
    "browser_search": Form(kind="web_search", json={"type": "browser_search"}),
    "groq.code_interpreter": Form(kind="code", json={"type": "code_interpreter"}),
    "compound.web_search": Form(
        kind="web_search",
        json={"compound_custom": {"tools": {"enabled_tools": ["web_search"]}}},
        options={
            "allowed_domains": "search_settings.include_domains",
            "blocked_domains": "search_settings.exclude_domains",
        },
        both_lists=True,  # recorded
        in_body=True,
    ),
    "compound.code_interpreter": Form(
        kind="code",
        json={"compound_custom": {"tools": {"enabled_tools": ["code_interpreter"]}}},
        in_body=True,
    ),
    "compound.visit_website": Form(
        kind="url_context",
        json={"compound_custom": {"tools": {"enabled_tools": ["visit_website"]}}},
        in_body=True,
    ),
    # --- both
    "openrouter:web_search": Form(
        kind="web_search",
        json={"type": "openrouter:web_search"},
        options={
            "allowed_domains": "parameters.allowed_domains",
            "blocked_domains": "parameters.excluded_domains",
        },
    ),
    "openrouter:web_search@openai": Form(
        kind="web_search",
        json={"type": "openrouter:web_search"},
        options={"allowed_domains": "parameters.allowed_domains"},
    ),
    "openrouter:web_fetch": Form(
        kind="url_context",
        json={"type": "openrouter:web_fetch"},
        options={
            name: f"parameters.{name}"
            for name in ("allowed_domains", "blocked_domains", "max_uses")
        },
    ),
    # --- Responses
    "web_search": Form(kind="web_search", json={"type": "web_search"}, options=_DOMAINS),
    "xai.web_search": Form(
        kind="web_search",
        json={"type": "web_search"},
        options={
            "allowed_domains": "filters.allowed_domains",
            "blocked_domains": "filters.excluded_domains",
        },
    ),
    "plain.web_search": Form(kind="web_search", json={"type": "web_search"}),
    "code_interpreter": Form(
        kind="code", json={"type": "code_interpreter", "container": {"type": "auto"}}
    ),
    "xai.code_interpreter": Form(kind="code", json={"type": "code_interpreter"}),
    "file_search": Form(
        kind="file_search",
        json={"type": "file_search"},
        options={"stores": "vector_store_ids", "max_results": "max_num_results"},
    ),
}
