// Anthropic's client for JavaScript.
const Anthropic = require("@anthropic-ai/sdk").default;
const { main } = require("./conversing.cjs");

function anthropic(task) {
  const messages = [];
  const session = {
    client: new Anthropic({ apiKey: task.api_key, baseURL: task.base_url }),
    text: "",
    user: (content) => messages.push({ role: "user", content }),
    async ask() {
      session.text = "";
      const given = { model: task.model, messages, max_tokens: task.max_tokens };
      if (task.thoughts) given.thinking = { type: "enabled", budget_tokens: 1024 };
      if (task.tools.length) given.tools = task.tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
      if (task.search) given.tools = [{ type: "web_search_20250305", name: "web_search" }];
      let message;
      if (task.stream) {
        const stream = session.client.messages.stream(given);
        stream.on("text", (delta) => (session.text += delta));
        message = await stream.finalMessage();
      } else {
        message = await session.client.messages.create(given);
      }
      messages.push({ role: "assistant", content: message.content });
      const { input_tokens, output_tokens } = message.usage;
      return {
        text: message.content.filter(({ type }) => type === "text").map(({ text }) => text).join(""),
        stop: message.stop_reason,
        paused: message.stop_reason === "pause_turn",
        usage: { input: input_tokens, output: output_tokens },
        calls: message.content.filter(({ type }) => type === "tool_use").map(({ id, name, input }) => ({ id, name, args: input })),
      };
    },
    results: (pairs) =>
      messages.push({ role: "user", content: pairs.map(([{ id }, content]) => ({ type: "tool_result", tool_use_id: id, content })) }),
  };
  return session;
}

main("@anthropic-ai/sdk", { anthropic });
