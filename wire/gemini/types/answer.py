"""What comes back: candidates, usage, feedback, grounding, citations, log probabilities."""

from __future__ import annotations

from wire.gemini.types.base import GeminiStruct, OpenEnum, OpenFloat
from wire.gemini.types.content import Content, FunctionCall, Part
from wire.gemini.types.status import Status


class GenerateContentResponse(GeminiStruct, frozen=True, kw_only=True):
    """An answer, or one chunk of a streamed one."""

    candidates: list[Candidate] | None = None
    """Absent if the prompt was blocked, and in chunks that only carry usage."""
    prompt_feedback: PromptFeedback | None = None
    usage_metadata: UsageMetadata | None = None
    """Output only. In a stream it is in every chunk and the last one counts; never sum."""
    model_version: str | None = None
    """Output only."""
    response_id: str | None = None
    """Output only. The same in all chunks."""
    model_status: ModelStatus | None = None
    """Output only."""
    create_time: str | None = None
    """Vertex only. Timestamp."""
    error: Status | None = None
    """Seen on the wire in place of all the others, inside an answer of status 200 (G76).

    Clients raise it.
    """
    turn_token: str | None = None
    """Seen on the wire, in no inventory (Gemini API, in every chunk): `v1:...`."""

    @property
    def text(self) -> str:
        """Text of the first candidate, without thoughts; `""` if there is none."""
        return "".join(part.text for part in self._parts() if part.text and not part.thought)

    @property
    def function_calls(self) -> list[FunctionCall]:
        """Calls of the first candidate, in order.

        Pieces of Vertex's streamed arguments, which have no name, are not among them.
        """
        return [
            part.function_call
            for part in self._parts()
            if part.function_call is not None and part.function_call.name
        ]

    @property
    def finish_reason(self) -> OpenEnum | None:
        """Why the first candidate ended; `None` while it goes on or if there is none."""
        first = self._first()
        return first.finish_reason if first is not None else None

    def _first(self) -> Candidate | None:
        """In a stream of several candidates a chunk may hold any of them."""
        return next((candidate for candidate in self.candidates or () if not candidate.index), None)

    def _parts(self) -> list[Part]:
        first = self._first()
        return (
            (first.content.parts or []) if first is not None and first.content is not None else []
        )


class Candidate(GeminiStruct, frozen=True, kw_only=True):
    """One answer of the model."""

    content: Content | None = None
    """Output only.

    May be absent, or without parts: blocked, malformed call, or all tokens spent on thinking.
    """
    finish_reason: OpenEnum | None = None
    """`FinishReason`, output only.

    Only at the end of a stream; none at all means that it broke off.
    """
    finish_message: str | None = None
    """Output only. No sign of trouble: ordinary tool calls have one too."""
    index: int | None = None
    """Output only. Often absent for the first."""
    safety_ratings: list[SafetyRating] | None = None
    citation_metadata: CitationMetadata | None = None
    """Output only."""
    token_count: int | None = None
    """Output only."""
    avg_logprobs: OpenFloat | None = None
    """Output only. Seen as `"Infinity"`."""
    logprobs_result: LogprobsResult | None = None
    """Output only."""
    grounding_attributions: list[GroundingAttribution] | None = None
    """Output only."""
    grounding_metadata: GroundingMetadata | None = None
    """Output only. May be `{}` in a stream."""
    url_context_metadata: UrlContextMetadata | None = None
    """Output only."""
    continuation_token: str | None = None
    """google-genai 3.3.0 only; base64. Goes with `FinishReason.CONTINUATION`."""
    score: float | None = None
    """Vertex only; seen on the wire, in no inventory."""


class PromptFeedback(GeminiStruct, frozen=True, kw_only=True):
    """What the filters said of the prompt."""

    block_reason: OpenEnum | None = None
    """`BlockReason`. If set, there are no candidates; the HTTP status is 200 all the same."""
    safety_ratings: list[SafetyRating] | None = None
    block_reason_message: str | None = None
    """Vertex only; seen on the wire, in no inventory."""


class SafetyRating(GeminiStruct, frozen=True, kw_only=True):
    """What one filter said."""

    category: OpenEnum | None = None
    """`HarmCategory`."""
    probability: OpenEnum | None = None
    """`HarmProbability`."""
    blocked: bool | None = None
    probability_score: float | None = None
    """Vertex only."""
    severity: OpenEnum | None = None
    """`HarmSeverity`. Vertex only."""
    severity_score: float | None = None
    """Vertex only."""
    overwritten_threshold: OpenEnum | None = None
    """`HarmBlockThreshold`. Vertex only."""


class UsageMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Tokens of a call. `total_token_count` = prompt + candidates + thoughts + tool use."""

    prompt_token_count: int | None = None
    """Cached tokens included. May jump in the last chunk."""
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    """Thoughts not included; absent if nothing was generated. May go down in a stream."""
    thoughts_token_count: int | None = None
    """Output only. Billed as output."""
    tool_use_prompt_token_count: int | None = None
    """Output only. What built-in tools brought in; not in `prompt_token_count`."""
    total_token_count: int | None = None
    prompt_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    cache_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    candidates_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    tool_use_prompt_tokens_details: list[ModalityTokenCount] | None = None
    """Output only."""
    response_token_count: int | None = None
    """Output only, since 2026-03-30."""
    response_tokens_details: list[ModalityTokenCount] | None = None
    """Output only, since 2026-03-30."""
    service_tier: OpenEnum | None = None
    """`ServiceTier`, output only, since 2026-05-06."""
    traffic_type: OpenEnum | None = None
    """`TrafficType`. Vertex only."""
    billable_prompt_usage: BillablePromptUsage | None = None
    """Vertex only; seen on the wire, in no inventory."""


class ModalityTokenCount(GeminiStruct, frozen=True, kw_only=True):
    """Tokens of one kind of content."""

    modality: OpenEnum | None = None
    """`Modality`."""
    token_count: int | None = None
    """Absent for 0."""


class BillablePromptUsage(GeminiStruct, frozen=True, kw_only=True):
    """What of a prompt is charged for. Vertex only; seen on the wire, in no inventory."""

    text_count: int | None = None
    """Characters without white space, those of the tools included."""


class ModelStatus(GeminiStruct, frozen=True, kw_only=True):
    """Where the answering model is in its life."""

    model_stage: OpenEnum | None = None
    """`ModelStage`."""
    retirement_time: str | None = None
    """Timestamp."""
    message: str | None = None


class CitationMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Sources that the text repeats. The two hosts use two names."""

    citation_sources: list[CitationSource] | None = None
    """Gemini API."""
    citations: list[Citation] | None = None
    """Vertex only."""


class CitationSource(GeminiStruct, frozen=True, kw_only=True):
    """One source; the indices count UTF-8 bytes, end excluded, and a start of 0 is absent."""

    start_index: int | None = None
    end_index: int | None = None
    uri: str | None = None
    license: str | None = None


class Citation(GeminiStruct, frozen=True, kw_only=True):
    """One source, as `CitationSource` with more to it. Vertex only."""

    start_index: int | None = None
    end_index: int | None = None
    uri: str | None = None
    title: str | None = None
    license: str | None = None
    publication_date: Date | None = None


class Date(GeminiStruct, frozen=True, kw_only=True):
    """A date; absent or 0 means that a piece of it is not known. Vertex only."""

    year: int | None = None
    month: int | None = None
    day: int | None = None


class LogprobsResult(GeminiStruct, frozen=True, kw_only=True):
    """Log probabilities, token by token."""

    chosen_candidates: list[LogprobsResultCandidate] | None = None
    """One for each token; need not be among the top ones."""
    top_candidates: list[TopCandidates] | None = None
    """One for each token."""
    log_probability_sum: OpenFloat | None = None


class TopCandidates(GeminiStruct, frozen=True, kw_only=True):
    """The likeliest tokens of one step, best first."""

    candidates: list[LogprobsResultCandidate] | None = None


class LogprobsResultCandidate(GeminiStruct, frozen=True, kw_only=True):
    """A token and its log probability."""

    token: str | None = None
    token_id: int | None = None
    log_probability: OpenFloat | None = None


class GroundingAttribution(GeminiStruct, frozen=True, kw_only=True):
    """A source of an attributed answer."""

    content: Content | None = None
    source_id: AttributionSourceId | None = None
    """Output only."""


class AttributionSourceId(GeminiStruct, frozen=True, kw_only=True):
    """Where an attributed source comes from: one of the two."""

    grounding_passage: GroundingPassageId | None = None
    semantic_retriever_chunk: SemanticRetrieverChunk | None = None


class GroundingPassageId(GeminiStruct, frozen=True, kw_only=True):
    """A passage that the request brought along."""

    passage_id: str | None = None
    """Output only."""
    part_index: int | None = None
    """Output only."""


class SemanticRetrieverChunk(GeminiStruct, frozen=True, kw_only=True):
    """A chunk that the semantic retriever found."""

    source: str | None = None
    """Output only. What the request named."""
    chunk: str | None = None
    """Output only. Resource name."""


class GroundingMetadata(GeminiStruct, frozen=True, kw_only=True):
    """What search, Maps and file search brought in, and which text rests on it."""

    grounding_chunks: list[GroundingChunk] | None = None
    grounding_supports: list[GroundingSupport] | None = None
    web_search_queries: list[str] | None = None
    image_search_queries: list[str] | None = None
    search_entry_point: SearchEntryPoint | None = None
    """Google's terms ask to show it."""
    retrieval_metadata: RetrievalMetadata | None = None
    google_maps_widget_context_token: str | None = None
    retrieval_queries: list[str] | None = None
    """Vertex only."""
    source_flagging_uris: list[SourceFlaggingUri] | None = None
    """Vertex only."""


class GroundingChunk(GeminiStruct, frozen=True, kw_only=True):
    """One source: one of the four."""

    web: Web | None = None
    image: Image | None = None
    maps: Maps | None = None
    retrieved_context: RetrievedContext | None = None


class Web(GeminiStruct, frozen=True, kw_only=True):
    """A web page."""

    uri: str | None = None
    """Output only. Often a redirect of Google's."""
    title: str | None = None
    """Output only."""
    domain: str | None = None
    """Vertex only; seen on the wire, in no inventory."""


class Image(GeminiStruct, frozen=True, kw_only=True):
    """An image that a search found."""

    image_uri: str | None = None
    source_uri: str | None = None
    """The page it is on."""
    title: str | None = None
    domain: str | None = None


class Maps(GeminiStruct, frozen=True, kw_only=True):
    """A place."""

    place_id: str | None = None
    """`places/ID`."""
    title: str | None = None
    uri: str | None = None
    text: str | None = None
    place_answer_sources: PlaceAnswerSources | None = None


class PlaceAnswerSources(GeminiStruct, frozen=True, kw_only=True):
    """What an answer on a place rests on."""

    review_snippets: list[ReviewSnippet] | None = None


class ReviewSnippet(GeminiStruct, frozen=True, kw_only=True):
    """A piece of a review of a place."""

    title: str | None = None
    review_id: str | None = None
    google_maps_uri: str | None = None


class RetrievedContext(GeminiStruct, frozen=True, kw_only=True):
    """A piece of a document that file search or retrieval found."""

    uri: str | None = None
    title: str | None = None
    text: str | None = None
    file_search_store: str | None = None
    """`fileSearchStores/ID`."""
    custom_metadata: list[GroundingChunkCustomMetadata] | None = None
    page_number: int | None = None
    """Since 2026-04-14."""
    media_id: str | None = None
    """Since 2026-04-23. `fileSearchStores/ID/media/ID`."""


class GroundingChunkCustomMetadata(GeminiStruct, frozen=True, kw_only=True):
    """A note that the owner put on a document: a key and one of three kinds of value."""

    key: str | None = None
    string_value: str | None = None
    string_list_value: GroundingChunkStringList | None = None
    numeric_value: float | None = None


class GroundingChunkStringList(GeminiStruct, frozen=True, kw_only=True):
    """A list of texts."""

    values: list[str] | None = None


class GroundingSupport(GeminiStruct, frozen=True, kw_only=True):
    """A stretch of the answer, and the chunks it rests on."""

    segment: Segment | None = None
    grounding_chunk_indices: list[int] | None = None
    """Into `grounding_chunks`."""
    confidence_scores: list[float] | None = None
    """0 to 1, one for each index; newer models send none."""
    rendered_parts: list[int] | None = None
    """Output only."""


class Segment(GeminiStruct, frozen=True, kw_only=True):
    """A stretch of a part's text; the indices count UTF-8 bytes, end excluded, and a 0 is
    absent.
    """

    part_index: int | None = None
    start_index: int | None = None
    end_index: int | None = None
    text: str | None = None


class SearchEntryPoint(GeminiStruct, frozen=True, kw_only=True):
    """What to show so that the user can search on."""

    rendered_content: str | None = None
    """HTML with style."""
    sdk_blob: str | None = None
    """base64 of JSON: pairs of search term and URL."""


class RetrievalMetadata(GeminiStruct, frozen=True, kw_only=True):
    """How dynamic retrieval decided."""

    google_search_dynamic_retrieval_score: float | None = None
    """0 to 1: how much a search would help."""


class SourceFlaggingUri(GeminiStruct, frozen=True, kw_only=True):
    """Where to report a place or review. Vertex only."""

    source_id: str | None = None
    flag_content_uri: str | None = None


class UrlContextMetadata(GeminiStruct, frozen=True, kw_only=True):
    """What `UrlContext` fetched."""

    url_metadata: list[UrlMetadata] | None = None


class UrlMetadata(GeminiStruct, frozen=True, kw_only=True):
    """One fetched URL."""

    retrieved_url: str | None = None
    url_retrieval_status: OpenEnum | None = None
    """`UrlRetrievalStatus`."""
