// Health: the state of each part, and the remedy if it does not work.

import { problemLists } from "./job-panel.js";
import { bytes, codes, count, el, fill, HEALTH, link, plural, say, sourceLink, STATE, timeOf } from "../shared/base.js";
import { failure } from "../shared/parts.js";
import { checkHealth, known } from "../shared/server.js";

const SIGNS = { ok: "✓", degraded: "!", failed: "✕" };
const PARTS = {
  contract: "Contract", database: "Database", verification: "Verification", collection: "Chunks and vectors", keywords: "Keywords",
  embedding: "Embedding model", answers: "Answers", disk: "Disk",
};

/** Return the view of `#/health`. */
export function view() {
  const again = el("button", { type: "button", class: "button", on: { click: check } }, "Check again");
  const verdict = el("p", { class: "verdict" }, "Checking…");
  const checks = el("ul", { class: "checks" });
  const sound = el("ul", { class: "checks" });
  const folded = el("details", { class: "sound" }, el("summary", {}, "Checking every part…"), sound);
  const facts = el("dl", { class: "facts", hidden: true });

  const problems = el("div", { class: "problem-lists" });

  HEALTH.hear(draw);

  function draw(health) {
    verdict.textContent = health.status;
    verdict.dataset.status = health.status;
    const isSound = ({ status }) => status === "ok";
    fill(checks, health.checks.filter((part) => !isSound(part)).map(checkRow));
    fill(sound, health.checks.filter(isSound).map(checkRow));
    folded.hidden = false;
    folded.querySelector("summary").textContent = health.checks.every(isSound) ? `All ${health.checks.length} parts work.` : `The other ${sound.children.length} work.`;
    fill(facts, factsOf(health));
    fill(problems, health.drift && driftOf(health.drift), health.problems && problemLists(health.problems));
    facts.hidden = false;
  }

  async function check() {
    again.disabled = true;
    try {
      await checkHealth();
      say(`The server is ${known.health.status}.`);
    } catch (problem) {
      lost(problem);
    } finally {
      again.disabled = false;
    }
  }

  function lost(problem) {
    verdict.textContent = "no response";
    verdict.dataset.status = "unhealthy";
    fill(checks, el("li", { class: "plain" }, failure(problem)));
    facts.hidden = folded.hidden = true;
  }

  function show() {
    if (known.isUp === false) lost(known.problem);
    else if (known.health) draw(known.health);
  }

  STATE.hear(() => known.isUp === false && lost(known.problem));

  const content = [
    el("div", { class: "view-head" }, el("h1", {}, "Health"), verdict, el("div", { class: "actions" }, again)),
    checks, folded, facts, problems,
  ];
  return { content, title: () => "Health", show };
}

/** Return the documents that name missing files. Changed files are a matter of freshness. */
function driftOf({ total, violations }) {
  const rows = violations.filter(({ type }) => type !== "changed_since_index");
  return rows.length > 0 && el("details", { class: "problems", open: true },
    el("summary", {}, `${plural(rows.length, "statement")} of documents to correct`),
    el("ul", {}, rows.map(({ source, message }) => el("li", {}, el("div", {}, el("a", { class: "path", href: sourceLink(source) }, source)), message)),
      total > violations.length && el("li", {}, `… and ${count(total - violations.length)} more`)));
}

function checkRow({ part, status, detail }) {
  return el("li", { "data-status": status },
    el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[status] ?? "·"),
    el("div", {},
      el("h2", {}, PARTS[part] ?? part, el("span", { class: "status-word" }, status === "unknown" ? "" : status)),
      el("p", {}, codes(detail), detail.includes("`lore sync`") && [" ", el("a", { href: link("index") }, "Sync the project")])));
}

function factsOf(health) {
  const rows = [
    ["Project", health.project], ["Version", health.version], ["Index", `${plural(health.files, "file")}, ${bytes(health.size_bytes)}`],
    ["Last change", timeOf(health.freshness?.synced_at) || "never"], ["Model", health.model], ["Database", health.database],
    ...(health.owner ? [["Process", health.owner.pid], ["Connected", count(health.owner.clients)]] : []),
  ];
  return rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
}
