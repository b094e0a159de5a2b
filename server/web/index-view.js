// The index: what is in it, what the last build did, the one that runs, and the files.

import * as api from "./api.js";
import { tellCounts } from "./chips.js";
import { el, fill } from "./dom.js";
import { filesPanel } from "./files.js";
import { ago, bytes, count } from "./format.js";
import { currentJob, resume, startSync } from "./job.js";
import { jobPanel } from "./job-panel.js";
import { manageMenu } from "./manage.js";
import { emptyIndex, failure } from "./notes.js";
import { project } from "./project.js";

/** The view of `#/index`. */
export function indexView() {
  const sync = el("button", { type: "button", class: "button primary big", on: { click: () => startSync() } }, "Sync");
  const facts = el("dl", { class: "facts" }, FACTS.map(([name]) => fact(name, "…")));
  const types = el("div", { class: "type-bars" });
  const panel = jobPanel();
  const files = filesPanel();
  const trouble = el("div", {});
  let name = project;
  let stage;
  const body = el("div", { class: "index-body" }, el("section", { class: "card types-card" }, el("h2", {}, "Passages by type"), types), files.element);

  document.addEventListener("lore:job", ({ detail: { job, ended } }) => {
    const isOtherStage = job.stage !== stage;
    stage = job.stage;
    sync.disabled = job.state === "running";
    sync.textContent = job.state === "running" ? "Running…" : "Sync";
    panel.show(job);
    if (ended || isOtherStage) load();
  });

  async function load() {
    try {
      const health = await api.health();
      tellCounts(health.counts);
      name = health.project;
      fill(facts, FACTS.map(([name, of]) => fact(name, of(health))));
      const isEmpty = health.files === 0 && !Object.keys(health.counts).length;
      fill(trouble, isEmpty && currentJob()?.state !== "running" && emptyIndex());
      body.hidden = isEmpty;
      fill(types, bars(health.counts));
      if (!isEmpty) files.load();
    } catch (problem) {
      fill(trouble, failure(problem, load));
    }
  }

  async function show() {
    load();
    try {
      if (!currentJob() && !(await resume())) panel.show(null);
    } catch (problem) {
      fill(trouble, failure(problem, show));
    }
  }

  const content = [
    el("div", { class: "view-head" }, el("h1", {}, "Index"), el("div", { class: "actions" }, sync, manageMenu(() => name))),
    facts, panel.element, trouble, body,
  ];
  if (currentJob()) panel.show(currentJob());
  return { content, title: () => "Index", show };
}

const FACTS = [
  ["Passages", (health) => count(Object.values(health.counts).reduce((total, one) => total + one, 0))],
  ["Files read", (health) => count(health.files)],
  ["Size", (health) => bytes(health.size_bytes)],
  ["Updated", (health) => ago(health.index_age_seconds)],
  ["Model", (health) => health.model],
  ["Database", (health) => health.database],
];

const fact = (name, value) => el("div", {}, el("dt", {}, name), el("dd", { title: value }, value));

function bars(counts) {
  const rows = Object.entries(counts).sort(([, one], [, other]) => other - one);
  const most = Math.max(...rows.map(([, figure]) => figure), 1);
  return el("table", { class: "bars" },
    el("caption", { class: "unseen" }, "Passages by type"),
    el("tbody", {}, rows.map(([type, figure]) => el("tr", {},
      el("th", { scope: "row" }, type),
      el("td", {}, el("span", { class: "bar", style: { "--share": String(figure / most) } })),
      el("td", { class: "figure" }, count(figure))))));
}
