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
