// Anthropic's own client for JavaScript, case by case, against the emulator; NODE_PATH says where it is installed; a line of JSON a case.
const Anthropic = require("@anthropic-ai/sdk").default;
const { betaTool } = require("@anthropic-ai/sdk/helpers/beta/json-schema");

const baseURL = process.argv[2];
const model = "claude-haiku-4-5";
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const question = { role: "user", content: "What is the weather in Paris and in Oslo?" };
const thinking = { type: "enabled", budget_tokens: 1024 };
const hi = { model, max_tokens: 2000, messages: [{ role: "user", content: "hi" }] };

function client(apiKey = "fake-key", fault = "") {
  return new Anthropic({ apiKey, baseURL, maxRetries: 0, defaultHeaders: fault ? { "x-wire-fault": fault } : {} });
}

// The SDK's own tool loop.
function runner(more = {}) {
  const run = ({ city }) => `sunny in ${city}`;
  const description = "Weather of a city";
  const tool = betaTool({ name: "get_weather", description, inputSchema: schema, run });
  return client().beta.messages.toolRunner({ ...hi, ...more, messages: [question], tools: [tool] });
}

// The blocks of each answer, the last text, and the status of each request: the first asks for a
// thread, which is refused.
async function runOf(answers, messageOf) {
  await fetch(`${baseURL}/_wire/requests`, { method: "DELETE" });
  const found = [];
  for await (const answer of answers) found.push(await messageOf(answer));
  const { requests } = await (await fetch(`${baseURL}/_wire/requests`)).json();
  const kinds = found.map((message) => message.content.map((block) => block.type));
  return [kinds, found.at(-1).content.at(-1).text, requests.map((request) => request.status)];
}

const cases = {
  plain: async () => (await client().messages.create(hi)).content[0].text,
  stream: async () => (await client().messages.stream(hi).finalMessage()).content[0].text,
  tool_runner: async () => runOf(runner(), (message) => message),
  tool_runner_streamed: async () =>
    runOf(runner({ stream: true, thinking }), (stream) => stream.finalMessage()),
  count_tokens: async () => (await client().messages.countTokens({ model, messages: hi.messages })).input_tokens,
  error_key: async () => client("bad-key").messages.create(hi),
  error_529: async () => client("k", "529").messages.create(hi),
  stream_error: async () => client("k", "error; after=3").messages.stream(hi).finalMessage(),
};

(async () => {
  for (const [name, work] of Object.entries(cases)) {
    try {
      console.log(JSON.stringify([name, "ok", await work()]));
    } catch (error) {
      console.log(JSON.stringify([name, error.constructor.name, error.status ?? null]));
    }
  }
})();
