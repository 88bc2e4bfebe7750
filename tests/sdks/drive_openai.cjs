// OpenAI's own client for JavaScript, case by case, against the emulator; NODE_PATH says where it is installed; a line of JSON a case.
const OpenAI = require("openai").default;

const baseURL = process.argv[2];
const question = { role: "user", content: "What is the weather in Paris and in Oslo?" };
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tool = { type: "function", name: "get_weather", description: "Weather of a city", parameters, strict: false };
const closed = { ...parameters, additionalProperties: false };
const place = { type: "json_schema", name: "place", schema: closed, strict: true };
const encrypted = { store: false, include: ["reasoning.encrypted_content"] };

function client(apiKey = "fake-key", fault = "") {
  const defaultHeaders = fault ? { "x-wire-fault": fault } : {};
  return new OpenAI({ apiKey, baseURL: `${baseURL}/v1`, maxRetries: 0, defaultHeaders });
}

function respond(more = {}, door = client()) {
  return door.responses.create({ model: "gpt-5.4", input: "hi", ...more });
}

function results(output) {
  const calls = output.filter((item) => item.type === "function_call");
  return calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "sunny" }));
}

async function script(...steps) {
  await fetch(`${baseURL}/_wire/script`, { method: "PUT", body: JSON.stringify(steps) });
}

async function all(events) {
  const found = [];
  for await (const event of await events) found.push(event);
  return found;
}

const cases = {
  plain: async () => (await respond()).output_text,
  stream: async () => {
    const stream = client().responses.stream({ model: "gpt-5.6", input: "hi" });
    const answer = await stream.finalResponse();
    return [answer.output.map((item) => item.type), answer.output_text];
  },
  tools: async () => {
    const first = await respond({ input: [question], tools: [tool] });
    const input = [question, ...first.output, ...results(first.output)];
    const calls = first.output.map((item) => item.arguments);
    return [calls, (await respond({ input, tools: [tool] })).output_text];
  },
  reasoning: async () => {
    const asked = { model: "gpt-5.6", tools: [tool], ...encrypted };
    const stream = client().responses.stream({ ...asked, input: [question] });
    const { output } = await stream.finalResponse();
    const sent = output.map(({ parsed_arguments, ...item }) => item);
    const input = [question, ...sent, ...results(output)];
    return [output.map((item) => item.type), (await respond({ ...asked, input })).output_text];
  },
  json_schema: async () => JSON.parse((await respond({ input: "Where is Oslo?", text: { format: place } })).output_text),
  refusal: async () => {
    await script({ say: { text: "I cannot help with that.", finish: "refusal" } });
    return (await respond()).output[0].content[0];
  },
  decisions: async () => {
    let sent = "";
    const listening = (url, init) => ((sent = init.body), fetch(url, init));
    const door = new OpenAI({ apiKey: "fake-key", baseURL: `${baseURL}/v1`, fetch: listening });
    const decision = await door.decisions.create({
      model: "gpt-6-luna",
      input: [{ type: "message", role: "user", content: "I am furious" }],
      questions: [
        { type: "predicate", name: "urgent", instructions: "It is urgent." },
        { type: "choice", name: "which", instructions: "Which?", choices: [{ value: true }, { value: "true", description: "a text" }] },
        { type: "score", name: "anger", instructions: "How angry?", levels: [{ label: "calm" }, { label: "furious" }] },
      ],
      prompt_cache_key: "k",
    });
    const [urgent, which, anger] = decision.answers;
    return [
      JSON.parse(sent),
      [urgent.name, urgent.probability >= 0.01 && urgent.probability <= 0.99],
      [[true, "true"].includes(which.choice), which.probabilities.map(({ value }) => value)],
      [anger.confidence === anger.score, anger.probabilities.map(({ label }) => label)],
      decision.usage.output_tokens,
    ];
  },
  decisions_refused: async () => client().decisions.create({ model: "gpt-6-luna", input: "Hi", questions: [] }),
  error_400: async () => respond({ model: "gpt-9" }),
  error_key: async () => respond({}, client("bad-key")),
  error_429: async () => respond({}, client("k", "429")),
  stream_error: async () => all(respond({ stream: true }, client("k", "error; after=2"))),
  stream_cut: async () => all(respond({ stream: true }, client("k", "cut; after=2"))),
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
