"""The messages of OpenAI's Responses as structs, with the fields that compatible hosts add.

Sources: openai/openai-openapi of 2026-08-21 (API 2.3.0), called the reference here, with its twin
schemas of the beta responses_multi_agent=v1; the types of openai-python 3.54.0 of November 2026;
recorded traffic of OpenAI and of ten other hosts.

Rules of this folder:

- snake_case, as on the wire. One open struct for each concept instead of one for each type: an
  unknown type of item, part, tool or event is not an error, and a received item can be sent.
- Fields are keyword-only and optional: `None` is not sent; `0`, `False`, `""`, `[]` and an empty
  struct (`{}`) are sent. `null` is decoded as `None`.
- Enums are text, so that unknown values can be read; docstrings list the known values.
- base64 is text and is not decoded. Times are Unix times in seconds.
- The hosts and the source of a field that is not the reference's are in the `Facts` of its
  annotation, and nowhere else; docs/fields.md lists them. Other hosts may answer 400 to it.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.openai.common.types.base": "OpenAIStruct",
    "wire.openai.common.types.errors": "ErrorObject",
    "wire.openai.responses.types.answer": """
        Billing CacheWriteTokensDetails Compaction ContentFilter DeletedResponse
        IncompleteDetails InputTokenCount InputTokensDetails InputTransformation ItemList
        Moderation ModerationResult OutputTokensDetails PromptCacheDiagnostics Response
        ResponseError ResponseUsage
    """,
    "wire.openai.responses.types.conversations": """
        Conversation ConversationRequest DeletedConversation ItemsRequest
    """,
    "wire.openai.responses.types.events": "StreamEvent",
    "wire.openai.responses.types.items": """
        Action Agent Annotation Caller CodeOutput ContentPart Item ItemError Outcome
        PatchOperation Point PromptCacheBreakpoint SafetyCheck SearchResult SearchSource
        TokenLogprob TopLogprob
    """,
    "wire.openai.responses.types.options": "Reasoning TextFormat TextOptions",
    "wire.openai.responses.types.request": """
        AccessPrograms BackgroundOptions CompactRequest ContextManagement ConversationId
        ImageOptions InputTokensRequest ModerationConfig ModerationOptions ModerationPolicy
        MultiAgent Prompt PromptCacheOptions ResponseRequest ResponseSteer StreamOptions
    """,
    "wire.openai.responses.types.tools": """
        CustomFormat DomainSecret Environment Filter HybridSearch ImageMask NetworkPolicy
        RankingOptions RequiredApproval Skill SkillSource Tool ToolChoice ToolFilter
        UserLocation
    """,
}

__getattr__, __dir__ = lazy_names("wire.openai.responses.types", _NAMES)
