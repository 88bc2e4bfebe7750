// Ollama's client for JavaScript.
const { Ollama } = require("ollama");
const { main } = require("./conversing.cjs");

function ollama(task) {
  const messages = [];
  const session = {
    client: new Ollama({ host: task.base_url, headers: { authorization: `Bearer ${task.api_key}` } }),
    text: "",
    user: (content) => messages.push({ role: "user", content }),
    async ask() {
      session.text = "";
      const tools = task.tools.map(({ name, description, parameters }) => ({ type: "function", function: { name, description, parameters } }));
      const given = { model: task.model, messages, tools, think: task.thoughts, options: { num_predict: task.max_tokens } };
      let last, message;
      if (task.stream) {
        message = { role: "assistant", content: "" };
        for await (const part of await session.client.chat({ ...given, stream: true })) {
          last = part;
          session.text += part.message.content ?? "";
          if (part.message.thinking) message.thinking = (message.thinking ?? "") + part.message.thinking;
          if (part.message.tool_calls) message.tool_calls = [...(message.tool_calls ?? []), ...part.message.tool_calls];
        }
        message.content = session.text;
      } else {
        last = await session.client.chat(given);
        message = last.message;
        session.text = message.content;
      }
      messages.push(message);
      return {
        text: session.text,
        stop: last.done_reason ?? null,
        usage: { input: last.prompt_eval_count, output: last.eval_count },
        calls: (message.tool_calls ?? []).map(({ function: { name, arguments: args } }) => ({ name, args })),
      };
    },
    results: (pairs) => messages.push(...pairs.map(([{ name }, content]) => ({ role: "tool", content, tool_name: name }))),
  };
  return session;
}

main("ollama", { ollama });
