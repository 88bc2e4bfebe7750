// What the adapters in JavaScript share: the task of `wire conformance`, its loop, and the report. NODE_PATH says where clients are installed.
const fs = require("node:fs");
const path = require("node:path");
const util = require("node:util");

function versionOf(name) {
  const at = path.join(process.env.NODE_PATH, name, "package.json");
  return JSON.parse(fs.readFileSync(at, "utf8")).version;
}

function resultOf(task, { name, args }) {
  const tool = task.tools.find((each) => each.name === name);
  return tool.results[args[tool.by]];
}

// The last call of an answer that ended so may be cut, so none is run.
const LIMITS = ["length", "max_tokens", "max_output_tokens", "incomplete"];

// `sessions` has a function for each wire that makes `{client, user(text), ask(), results(pairs), text}`; `text` is what was read of the answer in progress.
async function main(name, sessions) {
  const write = console.log;
  console.log = () => {}; // clients write notes of their own
  const task = JSON.parse(fs.readFileSync(0, "utf8"));
  const report = { client: `${name} ${versionOf(name)} (JavaScript)`, calls: [], shown: [] };
  if (!sessions[task.wire]) {
    write(JSON.stringify({ ...report, skip: `it does not speak ${task.wire}` }));
    return;
  }
  const session = sessions[task.wire](task);
  try {
    let answer;
    for (const turn of task.turns) {
      session.user(turn);
      answer = await session.ask();
      while (answer.calls.length || answer.paused) {
        if (LIMITS.includes(String(answer.stop).toLowerCase())) break;
        for (const call of answer.calls) if (typeof call.args === "string") call.args = JSON.parse(call.args);
        report.calls.push(...answer.calls.map(({ name, args }) => ({ name, args })));
        if (answer.calls.length) session.results(answer.calls.map((call) => [call, resultOf(task, call)]));
        answer = await session.ask();
      }
    }
    Object.assign(report, { text: answer.text, stop: answer.stop, usage: answer.usage });
  } catch (error) {
    const status = error.status ?? error.status_code ?? null;
    report.error = { type: error.constructor.name, message: String(error.message), status };
    report.text = session.text;
    if (task.show) report.shown.push(util.inspect(error));
  }
  if (task.show && !report.error) report.shown.push(util.inspect(session.client));
  write(JSON.stringify(report));
  process.exit(0);
}

module.exports = { main };
