// Google's client for JavaScript; its chats keep the conversation.
const { GoogleGenAI } = require("@google/genai");
const { main } = require("./conversing.cjs");

function gemini(task) {
  // Its retries are off unless they are asked for.
  const httpOptions = { baseUrl: task.base_url, retryOptions: { attempts: 3 } };
  const client = new GoogleGenAI({ apiKey: task.api_key, httpOptions });
  const config = { maxOutputTokens: task.max_tokens };
  if (task.thoughts) config.thinkingConfig = { includeThoughts: true };
  if (task.tools.length) {
    const functionDeclarations = task.tools.map(({ name, description, parameters }) => ({ name, description, parametersJsonSchema: parameters }));
    config.tools = [{ functionDeclarations }];
  }
  const chat = client.chats.create({ model: task.model, config });
  let message;
  const session = {
    client,
    text: "",
    user: (text) => (message = text),
    async ask() {
      session.text = "";
      const chunks = [];
      if (task.stream) {
        for await (const chunk of await chat.sendMessageStream({ message })) {
          chunks.push(chunk);
          session.text += textOf(chunk);
        }
      } else {
        chunks.push(await chat.sendMessage({ message }));
        session.text = textOf(chunks[0]);
      }
      const last = chunks.at(-1);
      const { promptTokenCount, candidatesTokenCount } = last.usageMetadata ?? {};
      return {
        text: session.text,
        stop: last.candidates?.[0]?.finishReason ?? last.promptFeedback?.blockReason ?? null,
        usage: { input: promptTokenCount, output: candidatesTokenCount },
        calls: chunks.flatMap((chunk) => chunk.functionCalls ?? []).map(({ id, name, args }) => ({ id, name, args })),
      };
    },
    results: (pairs) => {
      message = pairs.map(([{ id, name }, result]) => ({ functionResponse: { ...(id ? { id } : {}), name, response: { result } } }));
    },
  };
  return session;
}

function textOf(chunk) {
  const parts = chunk.candidates?.[0]?.content?.parts ?? [];
  return parts.filter((part) => !part.thought).map((part) => part.text ?? "").join("");
}

main("@google/genai", { gemini });
