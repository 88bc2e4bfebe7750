// Ollama's own client for JavaScript, case by case, against the emulator; NODE_PATH says where it is installed; a line of JSON a case.
const { Ollama } = require("ollama");

const host = process.argv[2];
const model = "qwen3:8b";
const messages = [{ role: "user", content: "hi" }];
const question = { role: "user", content: "What is the weather in Paris and in Oslo?" };
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", function: { name: "get_weather", description: "Weather of a city", parameters: schema } }];
console.log = () => {}; // the client writes notes of its own

function client(apiKey = "fake-key", fault = "") {
  return new Ollama({ host, headers: { authorization: `Bearer ${apiKey}`, ...(fault ? { "x-wire-fault": fault } : {}) } });
}

function results(calls) {
  return calls.map(({ function: { name, arguments: { city } } }) => ({ role: "tool", content: `sunny in ${city}`, tool_name: name }));
}

async function all(stream) {
  const parts = [];
  for await (const part of await stream) parts.push(part);
  return parts;
}

function joined(parts, key) {
  return parts.map(({ message }) => message[key] ?? "").join("");
}

const cases = {
  plain: async () => {
    const said = await client().chat({ model, messages });
    return [said.message.content, said.done_reason, said.eval_count > 0];
  },
  stream: async () => {
    const parts = await all(client().chat({ model, messages, stream: true, think: true }));
    return [joined(parts, "content"), joined(parts, "thinking") !== "", parts.slice(-2).map(({ done }) => done), parts.at(-1).done_reason];
  },
  tools: async () => {
    const { message } = await client().chat({ model, messages: [question], tools, think: false });
    const history = [question, message, ...results(message.tool_calls)];
    const after = await client().chat({ model, messages: history, tools, think: false });
    return [message.tool_calls.map((call) => call.function.arguments), after.message.content];
  },
  tools_streamed: async () => {
    const parts = await all(client().chat({ model, messages: [question], tools, stream: true }));
    const tool_calls = parts.flatMap(({ message }) => message.tool_calls ?? []);
    const turn = { role: "assistant", content: "", thinking: joined(parts, "thinking"), tool_calls };
    const history = [question, turn, ...results(tool_calls)];
    return [tool_calls.length, joined(await all(client().chat({ model, messages: history, stream: true })), "content")];
  },
  json_schema: async () => {
    const asked = [{ role: "user", content: "Where is Oslo?" }];
    return JSON.parse((await client().chat({ model, messages: asked, format: schema })).message.content);
  },
  generate: async () => {
    const parts = await all(client().generate({ model, prompt: "hi", stream: true }));
    const streamed = parts.map(({ response }) => response ?? "").join("");
    return [(await client().generate({ model, prompt: "hi" })).response, streamed, parts.at(-1).done_reason];
  },
  embeddings: async () => {
    const made = await client().embed({ model: "nomic-embed-text", input: ["Ebb.", "Flood."], dimensions: 8 });
    return made.embeddings.map(({ length }) => length);
  },
  decisions: async () => {
    const questions = {
      urgent: { type: "noul", instructions: "It is urgent." },
      team: { type: "choice", instructions: "Which?", criteria: { a: null, b: "c" } },
      anger: { type: "score", instructions: "How angry?", criteria: ["calm", "furious"] },
    };
    const found = await client().systemone({ model: "kev", state: "I am furious", questions });
    const answers = Object.keys(questions).map((name) => found.answers[name]);
    return [answers.map(({ type }) => type), Object.values(answers[2].legend), found.model];
  },
  models: async () => {
    const door = client();
    await door.chat({ model, messages, options: { num_ctx: 8192 } });
    const listed = (await door.list()).models.some((each) => each.model === model);
    const loaded = (await door.ps()).models.find((each) => each.model === model);
    return [listed, (await door.show({ model })).capabilities, loaded.context_length];
  },
  pulled: async () => {
    const states = (await all(client().pull({ model: "llama9", stream: true }))).map(({ status }) => status);
    return [states[0], states.at(-1), (await client().delete({ model: "llama9" })).status];
  },
  too_long: async () => {
    const history = [{ role: "user", content: "word ".repeat(400) }, ...messages];
    return (await client().chat({ model, messages: history, options: { num_ctx: 64 } })).prompt_eval_count < 64;
  },
  error_404: async () => client().chat({ model: "nobody", messages }),
  error_think: async () => client().chat({ model: "llama3.2:3b", messages, think: true }),
  error_key: async () => client("bad-key").chat({ model, messages }),
  error_429: async () => client("k", "429").chat({ model, messages }),
  error_503: async () => all(client("k", "503").chat({ model, messages, stream: true })),
  stream_error: async () => all(client("k", "error; after=2").chat({ model, messages, stream: true })),
  stream_cut: async () => all(client("k", "cut; after=2").chat({ model, messages, stream: true })),
};

(async () => {
  for (const [name, work] of Object.entries(cases)) {
    let outcome;
    try {
      outcome = ["ok", await work()];
    } catch (error) {
      outcome = error.name === "ResponseError" ? [error.name, error.status_code, error.error] : [error.name, null];
    }
    process.stdout.write(JSON.stringify([name, ...outcome]) + "\n");
  }
})();
