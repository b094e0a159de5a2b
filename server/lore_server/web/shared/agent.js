// What an agent gets for the same question: the exact reply of its tool, its tokens, and how to call it.

import { base, codes, count, el, fill } from "./base.js";
import { copyButton } from "./copy.js";
import { failure } from "./parts.js";
import { callTool } from "./server.js";

const CHARACTERS_PER_TOKEN = 4; // the server's own estimate

/** Show the reply of a tool to these arguments, and the same call as a tool call and for a shell. */
export async function showReply(panel, name, given, path) {
  const call = JSON.stringify({ name, arguments: given }, null, 2);
  const shell = `curl -s ${location.origin}${base}${path} -H 'Content-Type: application/json' -d '${JSON.stringify(given).replaceAll("'", "'\\''")}'`;
  const reply = el("pre", { tabindex: "0", "aria-label": "Reply" }, "…");
  const said = el("p", { class: "quiet" }, "Calling the tool…");
  fill(panel,
    said, reply,
    el("div", { class: "agent-calls" }, block("tool call", call), block("curl", shell)));
  try {
    const { text, structured } = await callTool(name, given);
    fill(reply, text);
    const tokens = Math.ceil(text.length / CHARACTERS_PER_TOKEN);
    fill(said, codes(`A client passes these ${count(tokens)} tokens on to its model${structured ? ", and the reply as JSON beside them" : ""}. Copy the `), copyButton("reply", () => text));
  } catch (problem) {
    fill(said, failure(problem));
  }
}

const block = (name, text) => el("div", {}, el("p", { class: "quiet" }, "Copy the ", copyButton(name, () => text)), el("pre", { tabindex: "0", "aria-label": name }, text));
