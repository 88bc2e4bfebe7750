// OpenAI's client for JavaScript, on chat completions and Responses.
const OpenAI = require("openai").default;
const { main } = require("./conversing.cjs");

function opened({ api_key, base_url }) {
  return new OpenAI({ apiKey: api_key, baseURL: base_url });
}

function declared({ name, description, parameters }) {
  return { name, description, parameters };
}

function chat(task) {
  const messages = [];
  const session = {
    client: opened(task),
    text: "",
    user: (content) => messages.push({ role: "user", content }),
    async ask() {
      session.text = "";
      const given = { model: task.model, messages };
      if (task.host === "openai@chat") given.max_completion_tokens = task.max_tokens;
      if (task.tools.length) given.tools = task.tools.map((each) => ({ type: "function", function: declared(each) }));
      let completion;
      if (task.stream) {
        const stream = session.client.chat.completions.stream({ ...given, stream_options: { include_usage: true } });
        stream.on("content", (delta) => (session.text += delta));
        completion = await stream.finalChatCompletion();
      } else {
        completion = await session.client.chat.completions.create(given);
      }
      const [{ message, finish_reason }] = completion.choices;
      messages.push(message);
      const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({ id, name, args }));
      const { prompt_tokens, completion_tokens } = completion.usage ?? {};
      return { text: message.content ?? "", stop: finish_reason, usage: { input: prompt_tokens, output: completion_tokens }, calls };
    },
    results: (pairs) => messages.push(...pairs.map(([{ id }, content]) => ({ role: "tool", tool_call_id: id, content }))),
  };
  return session;
}

function responses(task) {
  const input = [];
  const session = {
    client: opened(task),
    text: "",
    user: (content) => input.push({ role: "user", content }),
    async ask() {
      session.text = "";
      const given = { model: task.model, input, max_output_tokens: task.max_tokens, store: false };
      if (task.thoughts) Object.assign(given, { reasoning: { effort: "medium" }, include: ["reasoning.encrypted_content"] });
      if (task.tools.length) given.tools = task.tools.map((each) => ({ type: "function", strict: false, ...declared(each) }));
      let response;
      if (task.stream) {
        const stream = session.client.responses.stream(given);
        stream.on("response.output_text.delta", ({ delta }) => (session.text += delta));
        response = await stream.finalResponse();
      } else {
        response = await session.client.responses.create(given);
      }
      if (response.error) throw new Error(response.error.message); // handed out, and not raised
      // The helper of streams adds a key that no request has.
      input.push(...response.output.map(({ parsed_arguments, ...item }) => item));
      const calls = response.output.filter((item) => item.type === "function_call");
      const { input_tokens, output_tokens } = response.usage ?? {};
      return {
        text: response.output_text,
        stop: response.incomplete_details?.reason ?? response.status,
        usage: { input: input_tokens, output: output_tokens },
        calls: calls.map(({ call_id, name, arguments: args }) => ({ id: call_id, name, args })),
      };
    },
    results: (pairs) => input.push(...pairs.map(([{ id }, output]) => ({ type: "function_call_output", call_id: id, output }))),
  };
  return session;
}

main("openai", { openai: chat, responses });
