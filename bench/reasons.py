"""Why a suite misses a goal, and what would reach it: by its profile."""

REASONS = {
    "import": (
        "Types and rules of one vendor are some 60 modules of this package. To find and read one "
        "takes 0.2 ms, and as much again its classes and tables: structs of msgspec, rows of "
        "providers, words of the server. msgspec itself is a third of the base. What a first call "
        "does not need is imported when it is used; fewer modules, and fewer classes in those that "
        "are left, would make it cheaper."
    ),
    "process": (
        "The import is most of it: see Import. The call itself costs 1 to 3 ms, and the first one "
        "builds the decoders of its structs."
    ),
    "size": (
        "httpx, anyio and msgspec with what they require are 2.5 MB, and the package is three "
        "times as much: structs and rules of seven APIs are half of it, the emulator, cassettes "
        "and the other parts for tests a fifth. A separate distribution of these would be 1.5 MB "
        "less for those who do not test."
    ),
    "burst": (
        "As it is installed, the library costs about half of the plain loop of httpx. With "
        '`http="httpx"`, each read passes h11, httpcore and anyio, and brings one event or two: '
        "what is done for each read (its clock, its limits, the search for events, the bytes that "
        "are kept) is not shared by many. The rest is the way from bytes to chunk (see Core): each "
        "chunk is checked and decoded to a struct of all fields. Fewer objects a read and a chunk "
        "would make both less."
    ),
    "paced": (
        'Most of a read is the loop that wakes up. With `http="httpx"` it is also what httpx does '
        "with the bytes: h11, httpcore and anyio, ten frames and a timer each. What is left is the "
        "way from bytes to chunk (see Core), for one chunk or two at a time, and the clock of the "
        "read."
    ),
    "streams-200": (
        "The client is busy for longer than the server takes to send, so that streams end late: a "
        "read of each stream costs what it costs alone (see Paced). Memory is h11, the buffers of "
        "the stream of anyio, and the bytes that are kept for the result."
    ),
    "streams-1000": (
        "A read of each stream costs what it costs alone (see Paced), and opening a stream what a "
        "small answer costs. Counted without sockets, what `wire` adds has three parts: a third is "
        "opening and closing streams of fifty chunks; a third is the "
        "way from bytes to chunk, which takes 9 µs where 50 streams take turns; the last third "
        "comes with the number of streams, since the objects of a stream have left the caches of "
        "the processor when its next chunk arrives. Fewer objects between the socket and the "
        "chunk would make both of the latter less. "
        "Memory is the bytes that are kept for the result, and the objects of the call. The lag is "
        "that of the beginning: 1,000 calls are built, checked and sent at once, 0.1 to 0.2 ms "
        "each, while the first streams have chunks to read. Calls that are begun one after the "
        "other do not have it."
    ),
    "1kb": (
        "A call builds a request, opens an attempt with its clocks and limits, and reads one "
        "response: a fifth of the time is `wire`. With httpx the rest is h11, httpcore and anyio, "
        "which no client on httpx gets rid of."
    ),
    "5mb": (
        "The body is checked for its depth, decoded once and kept. The neutral door decodes "
        "base64 to bytes, which the limit does not."
    ),
    "history": (
        "Each message is a struct of all fields, and each is checked before anything is sent: "
        "roles, calls and their results, values that JSON cannot represent, the rules of the "
        "server. The limit checks nothing."
    ),
    "again": (
        "All messages are checked and made anew for each request, also those that the request "
        "before had: half of the time of the neutral door is their conversion to the structs of "
        "the wire and the rules over all turns, and a tenth the encoding, which is all that the "
        "limit does. What is known of the messages of the request before, their form on the wire "
        "and what the rules read of them, would have to be kept with them."
    ),
    "agent": (
        "Two thirds of a step are its two requests. The rest is the agent's: the beginning of a "
        "run with its state, the tool in a thread or a group of tasks of its own, the estimate "
        "of the tokens of the history before each request, and the reply in the history and in "
        "the state, each with a seventh to a quarter of it. A tool that is awaited where it is "
        "the only one of its turn, and tokens that are counted once a message, would make it "
        "less."
    ),
    "bulk": (
        "A row is a call of the neutral door (see Answer of 1 kB), which is seven tenths of it; "
        "its place in the rate limits, asked at each attempt and told of each response, its "
        "cost, and its line in the file with all that was received are the rest. The limit makes "
        "one call after the other and writes nothing. Headers that are read once, and a row "
        "without the seam around its call where no limit holds, would make it less."
    ),
    "scale": (
        "Driver, scheduler, two workers and the server share the cores of this machine. A row "
        "costs them 2 to 3 ms of CPU together, so that 320 rows a second take most of one core "
        "of two."
    ),
    "streams-5000": (
        "Connections to one host are opened 256 at a time, and each has 10 s from its turn on. "
        "Streams fail where a server does not accept them in that time; `Timeouts(connect=)` gives "
        "them longer."
    ),
    "length": ("The time is not constant: see Core for what a chunk costs."),
    "core": (
        "The limit finds events by one split and decodes four fields of a chunk. The raw door "
        "gives a struct of all fields, finds events as the standard says, counts against its "
        "limits, and keeps the bytes; the neutral door makes an event of each chunk, and a reply "
        "of all."
    ),
    "sse": (
        "Each line is looked at as the standard says, for its end, its field and comments; the "
        "limit splits at blank lines and looks for one field."
    ),
    "echo": (
        "The bytes of received messages are put in as they are. What costs is the check of the "
        "request before it is sent, message by message."
    ),
}
"""Name of a suite to a few sentences, which the page shows while a goal of the suite is missed."""
