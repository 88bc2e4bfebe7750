// Google's own client for JavaScript, case by case, against the emulator; NODE_PATH says where it is installed; a line of JSON a case.
const { GoogleGenAI } = require("@google/genai");

const baseUrl = process.argv[2];
const model = "gemini-3.1-pro-preview";
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const tools = [{ functionDeclarations: [{ name: "get_weather", description: "Weather of a city", parametersJsonSchema: schema }] }];
const question = "What is the weather in Paris and in Oslo?";

function client(apiKey = "fake-key", fault = "") {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl, headers: fault ? { "x-wire-fault": fault } : {} } });
}

const flash = "gemini-3.8-flash";
const tide = { type: "function", name: "get_weather", parameters: schema };

const words = "one two three four five six seven eight nine ten eleven twelve";

async function script(...steps) {
  await fetch(`${baseUrl}/_wire/script`, { method: "PUT", body: JSON.stringify(steps) });
}

function interact(more, door = client()) {
  return door.interactions.create({ model: flash, input: "hi", ...more });
}

async function events(stream) {
  const found = [];
  for await (const event of await stream) found.push(event);
  return found;
}

function said({ steps }) {
  return steps.at(-1).content[0].text;
}

async function read(stream) {
  const texts = [];
  for await (const chunk of stream) texts.push(chunk.text ?? "");
  return texts.join("");
}

const cases = {
  plain: async () => (await client().models.generateContent({ model, contents: "hi" })).text,
  stream: async () => read(await client().models.generateContentStream({ model, contents: "hi" })),
  chat_tools_streamed: async () => {
    const talk = client().chats.create({ model, config: { tools } });
    const calls = [];
    for await (const chunk of await talk.sendMessageStream({ message: question })) calls.push(...(chunk.functionCalls ?? []));
    const message = calls.map(({ id, name }) => ({ functionResponse: { id, name, response: { result: "sunny" } } }));
    return [calls.length, await read(await talk.sendMessageStream({ message }))];
  },
  count_tokens: async () => (await client().models.countTokens({ model, contents: "hi there" })).totalTokens,
  embeddings: async () => {
    const config = { outputDimensionality: 8 };
    return (await client().models.embedContent({ model: "gemini-embedding-001", contents: ["a", "b"], config })).embeddings.length;
  },
  files: async () => {
    const door = client();
    const file = await door.files.upload({ file: new Blob(["hello"]), config: { mimeType: "text/plain" } });
    const got = await door.files.get({ name: file.name });
    await door.files.delete({ name: file.name });
    return [got.sizeBytes, got.state];
  },
  interactions: async () => {
    const first = await interact();
    const more = await interact({ input: "And?", previous_interaction_id: first.id });
    const stored = await client().interactions.get(more.id);
    return [first.status, said(first), stored.steps.map(({ type }) => type)];
  },
  interactions_stream: async () => {
    const found = await events(interact({ stream: true }));
    const texts = found.filter(({ delta }) => delta?.type === "text").map(({ delta }) => delta.text);
    return [found[0].event_type, found.at(-1).event_type, texts.join("")];
  },
  interactions_tools: async () => {
    const asked = await interact({ input: question, tools: [tide] });
    const calls = asked.steps.filter(({ type }) => type === "function_call");
    const input = calls.map(({ id, name }) => ({ type: "function_result", call_id: id, name, result: "sunny" }));
    const more = await interact({ input, tools: [tide], previous_interaction_id: asked.id });
    return [asked.status, calls.map((call) => call.arguments), said(more)];
  },
  interactions_long: async () => {
    const asked = { model: "gemini-4-argon", input: "Count." };
    await script({ say: { text: words, hops: 3 } });
    const { status, steps } = await interact(asked);
    await script({ say: { text: words, hops: 3 } });
    const found = await events(interact({ ...asked, stream: true }));
    const texts = found.filter(({ delta }) => delta?.type === "text").map(({ delta }) => delta.text);
    const outputs = steps.filter(({ type }) => type === "model_output");
    return [status, outputs.map(({ content }) => content[0].text).join("") === words, texts.join("") === words];
  },
  interactions_background: async () => {
    const own = client().interactions;
    const run = await own.create({ agent: "deep-research-preview-04-2026", input: "Tides", background: true });
    const states = [run.status, (await own.get(run.id)).status, (await own.get(run.id)).status];
    const other = await own.create({ agent: "deep-research-preview-04-2026", input: "Tides", background: true });
    states.push((await own.cancel(other.id)).status);
    await own.delete(other.id);
    return [states, await own.get(other.id).catch(({ name, status, statusCode }) => [name, status ?? statusCode])];
  },
  interactions_refused: async () => interact({ store: false, background: true }),
  interactions_error_429: async () => interact({}, client("k", "429")),
  interactions_stream_error: async () => (await events(interact({ stream: true }, client("k", "error; after=2")))).at(-1).error.code,
  interactions_stream_cut: async () => events(interact({ stream: true }, client("k", "cut; after=2"))),
  error_key: async () => client("bad-key").models.generateContent({ model, contents: "hi" }),
  error_429: async () => client("k", "429; retry-after=2").models.generateContent({ model, contents: "hi" }),
  error_503: async () => client("k", "503").models.generateContentStream({ model, contents: "hi" }),
  stream_error: async () => read(await client("k", "error; after=2").models.generateContentStream({ model, contents: "hi" })),
  stream_cut: async () => read(await client("k", "cut; after=2").models.generateContentStream({ model, contents: "hi" })),
};

(async () => {
  for (const [name, work] of Object.entries(cases)) {
    try {
      console.log(JSON.stringify([name, "ok", await work()]));
    } catch (error) {
      console.log(JSON.stringify([name, error.name, error.status ?? null]));
    }
  }
})();
