"""The known values of enum fields. The fields accept any other text too."""

from __future__ import annotations

import enum

# Without the zeros *_UNSPECIFIED: they mean an absent field.


class FinishReason(enum.StrEnum):
    """Why a candidate ended. Tool calls end with `STOP` too: look at the parts."""

    STOP = "STOP"
    MAX_TOKENS = "MAX_TOKENS"
    SAFETY = "SAFETY"
    RECITATION = "RECITATION"
    LANGUAGE = "LANGUAGE"
    OTHER = "OTHER"
    BLOCKLIST = "BLOCKLIST"
    PROHIBITED_CONTENT = "PROHIBITED_CONTENT"
    SPII = "SPII"
    MALFORMED_FUNCTION_CALL = "MALFORMED_FUNCTION_CALL"
    IMAGE_SAFETY = "IMAGE_SAFETY"
    IMAGE_PROHIBITED_CONTENT = "IMAGE_PROHIBITED_CONTENT"
    IMAGE_OTHER = "IMAGE_OTHER"
    NO_IMAGE = "NO_IMAGE"
    IMAGE_RECITATION = "IMAGE_RECITATION"
    UNEXPECTED_TOOL_CALL = "UNEXPECTED_TOOL_CALL"
    TOO_MANY_TOOL_CALLS = "TOO_MANY_TOOL_CALLS"
    MISSING_THOUGHT_SIGNATURE = "MISSING_THOUGHT_SIGNATURE"
    MALFORMED_RESPONSE = "MALFORMED_RESPONSE"
    ESCALATION = "ESCALATION"  # since 2026-05-27
    PUP_LIMITED_DISABLED = "PUP_LIMITED_DISABLED"  # google-genai 3.3.0 only
    CONTINUATION = "CONTINUATION"  # google-genai 3.3.0 only; goes with Candidate.continuation_token
    MODEL_ARMOR = "MODEL_ARMOR"  # Vertex only


class BlockReason(enum.StrEnum):
    """Why a prompt was blocked."""

    SAFETY = "SAFETY"
    OTHER = "OTHER"
    BLOCKLIST = "BLOCKLIST"
    PROHIBITED_CONTENT = "PROHIBITED_CONTENT"
    IMAGE_SAFETY = "IMAGE_SAFETY"
    MODEL_ARMOR = "MODEL_ARMOR"  # google-genai 3.3.0 only
    JAILBREAK = "JAILBREAK"  # google-genai 3.3.0 only


class HarmCategory(enum.StrEnum):
    """Categories of the safety filters. `DEROGATORY` to `DANGEROUS` belong to PaLM."""

    DEROGATORY = "HARM_CATEGORY_DEROGATORY"
    TOXICITY = "HARM_CATEGORY_TOXICITY"
    VIOLENCE = "HARM_CATEGORY_VIOLENCE"
    SEXUAL = "HARM_CATEGORY_SEXUAL"
    MEDICAL = "HARM_CATEGORY_MEDICAL"
    DANGEROUS = "HARM_CATEGORY_DANGEROUS"
    HARASSMENT = "HARM_CATEGORY_HARASSMENT"
    HATE_SPEECH = "HARM_CATEGORY_HATE_SPEECH"
    SEXUALLY_EXPLICIT = "HARM_CATEGORY_SEXUALLY_EXPLICIT"
    DANGEROUS_CONTENT = "HARM_CATEGORY_DANGEROUS_CONTENT"
    CIVIC_INTEGRITY = "HARM_CATEGORY_CIVIC_INTEGRITY"
    JAILBREAK = "HARM_CATEGORY_JAILBREAK"  # since 2026-07-07
    IMAGE_HATE = "HARM_CATEGORY_IMAGE_HATE"  # google-genai 3.3.0 only, as are the next three
    IMAGE_DANGEROUS_CONTENT = "HARM_CATEGORY_IMAGE_DANGEROUS_CONTENT"
    IMAGE_HARASSMENT = "HARM_CATEGORY_IMAGE_HARASSMENT"
    IMAGE_SEXUALLY_EXPLICIT = "HARM_CATEGORY_IMAGE_SEXUALLY_EXPLICIT"


class HarmBlockThreshold(enum.StrEnum):
    """The least probability of harm that a category blocks."""

    BLOCK_LOW_AND_ABOVE = "BLOCK_LOW_AND_ABOVE"
    BLOCK_MEDIUM_AND_ABOVE = "BLOCK_MEDIUM_AND_ABOVE"
    BLOCK_ONLY_HIGH = "BLOCK_ONLY_HIGH"
    BLOCK_NONE = "BLOCK_NONE"
    OFF = "OFF"


class HarmBlockMethod(enum.StrEnum):
    """The score that a threshold is compared with."""

    SEVERITY = "SEVERITY"
    PROBABILITY = "PROBABILITY"


class HarmProbability(enum.StrEnum):
    """Probability that content is harmful."""

    NEGLIGIBLE = "NEGLIGIBLE"
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"


class HarmSeverity(enum.StrEnum):
    """Severity of the harm."""

    NEGLIGIBLE = "HARM_SEVERITY_NEGLIGIBLE"
    LOW = "HARM_SEVERITY_LOW"
    MEDIUM = "HARM_SEVERITY_MEDIUM"
    HIGH = "HARM_SEVERITY_HIGH"


class Modality(enum.StrEnum):
    """Kind of content that token counts distinguish."""

    TEXT = "TEXT"
    IMAGE = "IMAGE"
    VIDEO = "VIDEO"
    AUDIO = "AUDIO"
    DOCUMENT = "DOCUMENT"


class ResponseModality(enum.StrEnum):
    """Kind of output of a model."""

    TEXT = "TEXT"
    IMAGE = "IMAGE"
    AUDIO = "AUDIO"
    VIDEO = "VIDEO"  # since 2026-03-18


class MediaResolutionLevel(enum.StrEnum):
    """Number of tokens that media take."""

    LOW = "MEDIA_RESOLUTION_LOW"
    MEDIUM = "MEDIA_RESOLUTION_MEDIUM"
    HIGH = "MEDIA_RESOLUTION_HIGH"
    ULTRA_HIGH = "MEDIA_RESOLUTION_ULTRA_HIGH"  # per part only, not in GenerationConfig


class MediaProcessing(enum.StrEnum):
    """How a video is read."""

    STATIC = "STATIC"
    AGENTIC = "AGENTIC"


class Outcome(enum.StrEnum):
    """Result of code that the server ran."""

    OK = "OUTCOME_OK"
    FAILED = "OUTCOME_FAILED"
    DEADLINE_EXCEEDED = "OUTCOME_DEADLINE_EXCEEDED"


class Language(enum.StrEnum):
    """Language of code that the server runs."""

    PYTHON = "PYTHON"


class ToolType(enum.StrEnum):
    """Tool that the server ran."""

    GOOGLE_SEARCH_WEB = "GOOGLE_SEARCH_WEB"
    GOOGLE_SEARCH_IMAGE = "GOOGLE_SEARCH_IMAGE"
    URL_CONTEXT = "URL_CONTEXT"
    GOOGLE_MAPS = "GOOGLE_MAPS"
    FILE_SEARCH = "FILE_SEARCH"
    MEDIA_PROCESSING = "MEDIA_PROCESSING"  # google-genai 3.3.0 only


class Scheduling(enum.StrEnum):
    """When the model reads a late function result. Live API only."""

    SILENT = "SILENT"
    WHEN_IDLE = "WHEN_IDLE"
    INTERRUPT = "INTERRUPT"


class Behavior(enum.StrEnum):
    """Whether the model waits for a function. Live API only."""

    BLOCKING = "BLOCKING"
    NON_BLOCKING = "NON_BLOCKING"


class FunctionCallingMode(enum.StrEnum):
    """Whether the model may or must call functions."""

    AUTO = "AUTO"
    ANY = "ANY"
    NONE = "NONE"
    # Text or calls that fit their schema; in effect when 3.x mixes built-in tools and functions.
    VALIDATED = "VALIDATED"


class DynamicRetrievalMode(enum.StrEnum):
    """When `GoogleSearchRetrieval` searches."""

    DYNAMIC = "MODE_DYNAMIC"


class ComputerEnvironment(enum.StrEnum):
    """The environment that computer use operates."""

    BROWSER = "ENVIRONMENT_BROWSER"
    MOBILE = "ENVIRONMENT_MOBILE"  # since 2026-06-15
    DESKTOP = "ENVIRONMENT_DESKTOP"  # since 2026-06-15


class ComputerSafetyPolicy(enum.StrEnum):
    """Checks of computer use that can be turned off."""

    FINANCIAL_TRANSACTIONS = "FINANCIAL_TRANSACTIONS"
    SENSITIVE_DATA_MODIFICATION = "SENSITIVE_DATA_MODIFICATION"
    COMMUNICATION_TOOL = "COMMUNICATION_TOOL"
    ACCOUNT_CREATION = "ACCOUNT_CREATION"
    DATA_MODIFICATION = "DATA_MODIFICATION"
    USER_CONSENT_MANAGEMENT = "USER_CONSENT_MANAGEMENT"
    LEGAL_TERMS_AND_AGREEMENTS = "LEGAL_TERMS_AND_AGREEMENTS"


class PhishBlockThreshold(enum.StrEnum):
    """The least confidence at which a search result is dropped as phishing."""

    BLOCK_LOW_AND_ABOVE = "BLOCK_LOW_AND_ABOVE"
    BLOCK_MEDIUM_AND_ABOVE = "BLOCK_MEDIUM_AND_ABOVE"
    BLOCK_HIGH_AND_ABOVE = "BLOCK_HIGH_AND_ABOVE"
    BLOCK_HIGHER_AND_ABOVE = "BLOCK_HIGHER_AND_ABOVE"
    BLOCK_VERY_HIGH_AND_ABOVE = "BLOCK_VERY_HIGH_AND_ABOVE"
    BLOCK_ONLY_EXTREMELY_HIGH = "BLOCK_ONLY_EXTREMELY_HIGH"


class SchemaType(enum.StrEnum):
    """Type of a `Schema` node. Lower case is accepted too."""

    STRING = "STRING"
    NUMBER = "NUMBER"
    INTEGER = "INTEGER"
    BOOLEAN = "BOOLEAN"
    ARRAY = "ARRAY"
    OBJECT = "OBJECT"
    NULL = "NULL"


class ThinkingLevel(enum.StrEnum):
    """How much a 3.x model thinks. Each model accepts its own subset (G59)."""

    MINIMAL = "MINIMAL"
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    XHIGH = "XHIGH"  # google-genai 3.3.0 only


class ServiceTier(enum.StrEnum):
    """Class of price and urgency. In lower case on the wire."""

    STANDARD = "standard"
    FLEX = "flex"
    PRIORITY = "priority"


class TrafficType(enum.StrEnum):
    """How a call was billed."""

    ON_DEMAND = "ON_DEMAND"
    ON_DEMAND_PRIORITY = "ON_DEMAND_PRIORITY"
    ON_DEMAND_FLEX = "ON_DEMAND_FLEX"
    ON_DEMAND_OFFPEAK = "ON_DEMAND_OFFPEAK"
    PROVISIONED_THROUGHPUT = "PROVISIONED_THROUGHPUT"


class Delivery(enum.StrEnum):
    """Whether generated media come in the response or as a link."""

    INLINE = "INLINE"
    URI = "URI"


class AudioMimeType(enum.StrEnum):
    """Encodings of `AudioResponseFormat`; they are not MIME types."""

    MP3 = "AUDIO_MP3"
    OGG_OPUS = "AUDIO_OGG_OPUS"
    L16 = "AUDIO_L16"
    WAV = "AUDIO_WAV"
    ALAW = "AUDIO_ALAW"
    MULAW = "AUDIO_MULAW"


class ImageMimeType(enum.StrEnum):
    """Encodings of `ImageResponseFormat`; they are not MIME types."""

    JPEG = "IMAGE_JPEG"


class TextMimeType(enum.StrEnum):
    """Kinds of text of `TextResponseFormat`; they are not MIME types."""

    JSON = "APPLICATION_JSON"
    PLAIN = "TEXT_PLAIN"


class ImageSize(enum.StrEnum):
    """Sizes of `ImageResponseFormat`. `ImageConfig.image_size` spells them otherwise (`"2K"`)."""

    FIVE_TWELVE = "IMAGE_SIZE_FIVE_TWELVE"
    ONE_K = "IMAGE_SIZE_ONE_K"
    TWO_K = "IMAGE_SIZE_TWO_K"
    FOUR_K = "IMAGE_SIZE_FOUR_K"


class AspectRatio(enum.StrEnum):
    """Aspect ratios of `ImageResponseFormat`. `ImageConfig.aspect_ratio` spells them otherwise
    (`"16:9"`).
    """

    ONE_BY_ONE = "ASPECT_RATIO_ONE_BY_ONE"
    TWO_BY_THREE = "ASPECT_RATIO_TWO_BY_THREE"
    THREE_BY_TWO = "ASPECT_RATIO_THREE_BY_TWO"
    THREE_BY_FOUR = "ASPECT_RATIO_THREE_BY_FOUR"
    FOUR_BY_THREE = "ASPECT_RATIO_FOUR_BY_THREE"
    FOUR_BY_FIVE = "ASPECT_RATIO_FOUR_BY_FIVE"
    FIVE_BY_FOUR = "ASPECT_RATIO_FIVE_BY_FOUR"
    NINE_BY_SIXTEEN = "ASPECT_RATIO_NINE_BY_SIXTEEN"
    SIXTEEN_BY_NINE = "ASPECT_RATIO_SIXTEEN_BY_NINE"
    TWENTY_ONE_BY_NINE = "ASPECT_RATIO_TWENTY_ONE_BY_NINE"
    ONE_BY_EIGHT = "ASPECT_RATIO_ONE_BY_EIGHT"
    EIGHT_BY_ONE = "ASPECT_RATIO_EIGHT_BY_ONE"
    ONE_BY_FOUR = "ASPECT_RATIO_ONE_BY_FOUR"
    FOUR_BY_ONE = "ASPECT_RATIO_FOUR_BY_ONE"


class PersonGeneration(enum.StrEnum):
    """Which people generated images may show."""

    DONT_ALLOW = "DONT_ALLOW"
    ALLOW_ADULT = "ALLOW_ADULT"
    ALLOW_ALL = "ALLOW_ALL"


class ProminentPeople(enum.StrEnum):
    """Whether generated images may show well-known people."""

    ALLOW = "ALLOW_PROMINENT_PEOPLE"
    BLOCK = "BLOCK_PROMINENT_PEOPLE"


class RoutingPreference(enum.StrEnum):
    """The server's preference when it chooses a model."""

    PRIORITIZE_QUALITY = "PRIORITIZE_QUALITY"
    BALANCED = "BALANCED"
    PRIORITIZE_COST = "PRIORITIZE_COST"


class TranscriptionMode(enum.StrEnum):
    """How literally a transcript follows the speech."""

    VERBATIM = "VERBATIM"
    SMART = "SMART"


class ModelStage(enum.StrEnum):
    """Life-cycle stage of a model."""

    UNSTABLE_EXPERIMENTAL = "UNSTABLE_EXPERIMENTAL"
    EXPERIMENTAL = "EXPERIMENTAL"
    PREVIEW = "PREVIEW"
    STABLE = "STABLE"
    LEGACY = "LEGACY"
    DEPRECATED = "DEPRECATED"
    RETIRED = "RETIRED"


class UrlRetrievalStatus(enum.StrEnum):
    """Result of fetching a URL."""

    SUCCESS = "URL_RETRIEVAL_STATUS_SUCCESS"
    ERROR = "URL_RETRIEVAL_STATUS_ERROR"
    PAYWALL = "URL_RETRIEVAL_STATUS_PAYWALL"
    UNSAFE = "URL_RETRIEVAL_STATUS_UNSAFE"
