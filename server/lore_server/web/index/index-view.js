// The index: its content, the last or running build, and the files.

import { copiesPanel } from "./copies.js";
import { filesPanel } from "./files.js";
import { jobPanel, problemLists } from "./job-panel.js";
import { manageMenu } from "./manage.js";
import { bytes, count, duration, el, fill, HEALTH, JOB, plural, project, sourceLink, STATE, sum, timeOf } from "../shared/base.js";
import { emptyIndex, failure } from "../shared/parts.js";
import { currentJob, known, startSync } from "../shared/server.js";

/** Return the view of `#/index`. */
export function view() {
  const sync = el("button", { type: "button", class: "button primary big", on: { click: () => startSync() } }, "Sync");
  const facts = el("dl", { class: "facts" }, FACTS.map(([name]) => fact(name, "…")));
  const types = el("div", { class: "type-bars" });
  const panel = jobPanel();
  const files = filesPanel();
  const trouble = el("div", {});
  let name = project;
  const plan = el("section", { class: "card plan", hidden: true });
  const leftOut = el("section", { class: "card" });
  const builds = el("section", { class: "card builds", "aria-label": "Last builds", tabindex: "0" });
  const body = el("div", { class: "index-body", hidden: true },
    el("div", {}, el("section", { class: "card types-card" }, el("h2", {}, "Chunks by type"), types), leftOut),
    el("div", {}, builds, copiesPanel(), files.element)); // the files come later and need room below

  JOB.hear(({ job }) => {
    sync.disabled = job?.state === "running";
    sync.textContent = sync.disabled ? "Running…" : "Sync";
    panel.show(job);
    if (isShown() && known.health && body.hidden) draw(known.health);
  });
  HEALTH.hear((health) => isShown() && draw(health));
  const isShown = () => panel.element.offsetParent !== null;

  function draw(health) {
    name = health.project;
    fill(facts, FACTS.map(([name, of]) => fact(name, of(health))));
    const isEmpty = health.files === 0 && !Object.keys(health.counts).length;
    fill(trouble, isEmpty && currentJob()?.state !== "running" && emptyIndex());
    body.hidden = isEmpty || currentJob() === undefined; // show nothing below a card that is still growing
    fill(types, bars(health.counts));
    fill(leftOut, leftOutOf(health));
    fill(builds, buildsOf(health.builds ?? []));
    if (!isEmpty) files.load();
  }

  STATE.hear(() => {
    if (known.isUp === false) fill(trouble, failure(known.problem));
    if (isShown()) showPlan();
  });

  /** Say what a sync would do, before it is pressed. */
  function showPlan() {
    const { changed, freshness } = known;
    plan.hidden = !changed.length || currentJob()?.state === "running";
    if (plan.hidden || plan.dataset.paths === String(changed)) return;
    plan.dataset.paths = String(changed);
    fill(plan, el("h2", {}, `A sync would read ${plural(freshness.changed_files, "new, changed or deleted file")}`),
      el("ul", {}, changed.map((path) => el("li", {}, el("a", { class: "path", href: sourceLink(path) }, path)))));
  }

  function show() {
    if (known.health) draw(known.health);
    showPlan();
  }

  const content = [
    el("div", { class: "view-head" }, el("h1", {}, "Index"), el("div", { class: "actions" }, sync, manageMenu(() => name))),
    facts, plan, panel.element, trouble, body,
  ];
  if (currentJob() !== undefined) panel.show(currentJob());
  return { content, title: () => "Index", show };
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

/** Return the files that no source claims, by reason. */
function leftOutOf({ inventory, problems }) {
  const rows = inventory?.left_out ?? [];
  return [
    el("h2", {}, "Left out"),
    rows.length ? el("ul", { class: "left-out" }, rows.map(({ extension, reason, files, example }) => el("li", { title: `for example ${example}` },
      el("code", {}, extension || "no extension"), el("span", { class: "quiet" }, reason), el("span", { class: "figure" }, count(files))))) : el("p", { class: "quiet" }, "No file of the project; those that git ignores are not counted."),
    problems && problemLists({ ...problems, warnings: [] }), // files that were left out; the last sync has the warnings
  ];
}

/** Return the last builds as a table. */
function buildsOf(rows) {
  return [
    el("h2", {}, "Last builds"),
    rows.length === 0 ? el("p", { class: "quiet" }, "None yet.") : el("table", { class: "list" },
      el("thead", {}, el("tr", {}, ["When", "Because of", "Took", "Files", "New", "Changed", "Deleted"].map((name, at) => el("th", { scope: "col", class: at > 1 ? "figure" : "" }, name)))),
      el("tbody", {}, rows.map((build) => el("tr", {},
        el("td", {}, timeOf(build.started_at), build.state !== "done" && el("span", { class: `state ${build.state}` }, build.state)),
        el("td", {}, build.action === "sync" ? build.cause : build.action),
        [duration(build.seconds), ...["files", "created", "updated", "deleted"].map((name) => count(build[name]))].map((text) => el("td", { class: "figure" }, text)))))),
  ];
}
