// The index: its content, the last or running build, and the files.

import { sum } from "../shared/chips.js";
import { el, fill } from "../shared/dom.js";
import { filesPanel } from "./files.js";
import { bytes, count } from "../shared/format.js";
import { currentJob, startSync } from "../shared/job.js";
import { jobPanel } from "./job-panel.js";
import { manageMenu } from "./manage.js";
import { emptyIndex, failure } from "../shared/notes.js";
import { project } from "../shared/project.js";
import { known, learnHealth } from "../shared/state.js";
import { timeOf } from "../shared/time.js";

/** Return the view of `#/index`. */
export function indexView() {
  const sync = el("button", { type: "button", class: "button primary big", on: { click: () => startSync() } }, "Sync");
  const facts = el("dl", { class: "facts" }, FACTS.map(([name]) => fact(name, "…")));
  const types = el("div", { class: "type-bars" });
  const panel = jobPanel();
  const files = filesPanel();
  const trouble = el("div", {});
  let name = project;
  let stage;
  const body = el("div", { class: "index-body", hidden: true }, el("section", { class: "card types-card" }, el("h2", {}, "Chunks by type"), types), files.element);

  document.addEventListener("lore:job", ({ detail: { job } }) => {
    const isOtherStage = job?.state === "running" && job.stage !== stage;
    stage = job?.stage;
    sync.disabled = job?.state === "running";
    sync.textContent = sync.disabled ? "Running…" : "Sync";
    panel.show(job);
    if (isShown() && known.health && body.hidden) draw(known.health);
    if (isOtherStage && isShown()) load();
  });
  document.addEventListener("lore:health", ({ detail }) => isShown() && draw(detail));
  const isShown = () => panel.element.offsetParent !== null;

  function draw(health) {
    name = health.project;
    fill(facts, FACTS.map(([name, of]) => fact(name, of(health))));
    const isEmpty = health.files === 0 && !Object.keys(health.counts).length;
    fill(trouble, isEmpty && currentJob()?.state !== "running" && emptyIndex());
    body.hidden = isEmpty || currentJob() === undefined; // show nothing below a card that is still growing
    fill(types, bars(health.counts));
    if (!isEmpty) files.load();
  }

  async function load() {
    try {
      await learnHealth();
    } catch (problem) {
      fill(trouble, failure(problem, load));
    }
  }

  const content = [
    el("div", { class: "view-head" }, el("h1", {}, "Index"), el("div", { class: "actions" }, sync, manageMenu(() => name))),
    facts, panel.element, trouble, body,
  ];
  if (currentJob() !== undefined) panel.show(currentJob());
  return { content, title: () => "Index", show: load };
}

const FACTS = [
  ["Chunks", (health) => count(sum(health.counts))],
  ["Files", (health) => count(health.files)],
  ["Size", (health) => bytes(health.size_bytes)],
  ["Last change", (health) => timeOf(health.freshness?.synced_at) || "never"],
  ["Model", (health) => health.model],
  ["Database", (health) => health.database],
];

const fact = (name, value) => el("div", {}, el("dt", {}, name), el("dd", { title: value.nodeType ? null : value }, value));

function bars(counts) {
  const rows = Object.entries(counts).sort(([, left], [, right]) => right - left);
  const most = Math.max(...rows.map(([, figure]) => figure), 1);
  return el("table", { class: "bars" },
    el("caption", { class: "unseen" }, "Chunks by type"),
    el("tbody", {}, rows.map(([type, figure]) => el("tr", {},
      el("th", { scope: "row" }, type),
      el("td", {}, el("span", { class: "bar", style: { "--share": String(figure / most) } })),
      el("td", { class: "figure" }, count(figure))))));
}
