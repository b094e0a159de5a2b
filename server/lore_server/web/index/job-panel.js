// The card of a build: stages, rate, remaining time and a cancel button; afterwards, its report.

import { count, duration, el, fill, link, plural, say, timeOf } from "../shared/base.js";
import { failure, note } from "../shared/parts.js";
import { cancelJob } from "../shared/server.js";

const STAGES = { sync: ["reading", "indexing words", "reusing vectors", "embedding"], create: ["reading"], embed: ["indexing words", "reusing vectors", "embedding"], delete: [] };

/** Create a card that shows a job; null means that there has been no job yet. */
export function jobPanel() {
  const element = el("section", { class: "card job", "aria-label": "Build" }, el("p", { class: "quiet" }, "…"));
  let stages = [];
  let shown = null;

  function show(job) {
    const before = shown;
    shown = job;
    if (!job) return fill(element, el("h2", {}, "Last build"), el("p", { class: "quiet" }, "None yet."));
    if (job.state === "running") return run(job, before);
    if (before?.state === "running") say(`${job.action} ${job.state}.`);
    stages = [];
    return fill(element, job.state === "lost" ? lost(job) : ended(job));
  }

  function run(job, before) {
    if (before?.id !== job.id || before.state !== "running") {
      stages = (STAGES[job.action] ?? []).map((name) => stageRow(name));
      fill(element,
        el("div", { class: "job-head" }, el("h2", {}, `${title(job.action)} is running`), el("p", { class: "quiet elapsed" }), cancelButton()),
        el("div", { class: "stages" }, stages.map((stage) => stage.element)));
      say(`${job.action} is running.`);
    }
    step(job);
    element.querySelector(".elapsed").textContent = job.isEnding ? "stopping at the next step…" : `for ${duration(Math.floor(job.seconds))}`;
    element.querySelector("button.cancel").disabled = Boolean(job.isEnding);
  }

  function step(job) {
    if (!job.stage || (!job.total && !stages.some((stage) => stage.name === job.stage))) return;
    if (!stages.some((stage) => stage.name === job.stage)) {
      stages.push(stageRow(job.stage));
      element.querySelector(".stages").append(stages.at(-1).element);
    }
    const at = stages.findIndex((stage) => stage.name === job.stage);
    stages.forEach((stage, number) => (number === at ? stage.show(job) : stage.rest(number < at)));
  }

  return { element, show };
}

function stageRow(name) {
  const bar = el("progress", { "aria-label": name, max: 1, value: 0 });
  const figures = el("span", { class: "figure" }, "waiting");
  const element = el("div", { class: "stage" }, el("span", { class: "stage-name" }, name), bar, figures);
  return {
    name,
    element,
    show(job) {
      element.dataset.state = "running";
      bar.value = job.total ? job.done / job.total : 0;
      figures.textContent = job.total ? [`${count(job.done)} of ${count(job.total)}`, ...pace(job)].join(" · ") : "…";
    },
    rest(isDone) {
      element.dataset.state = isDone ? "done" : "waiting";
      bar.value = isDone ? 1 : 0;
      figures.textContent = isDone ? "done" : "waiting";
    },
  };
}

const RECENT_MS = 20_000;
let seen = []; // the progress of a stage of a job: [time, both, done]

/** Return the rate and the remaining time, by the last seconds: stages are slow at first and for long texts. */
function pace(job) {
  const [now, both] = [performance.now(), `${job.id} ${job.stage}`];
  seen = [...seen.filter(([at, of, done]) => of === both && done <= job.done && now - at < RECENT_MS), [now, both, job.done]];
  const [[since, , before]] = seen;
  const recent = now - since > RECENT_MS / 2 ? ((job.done - before) * 1000) / (now - since) : job.rate;
  if (!recent) return [];
  const rate = `${recent >= 10 ? count(Math.round(recent)) : recent.toFixed(1)}/s`;
  return job.done < job.total ? [rate, `${duration((job.total - job.done) / recent)} left`] : [rate];
}

function cancelButton() {
  return el("button", { type: "button", class: "button cancel", on: { click: () => cancelJob() } }, "Cancel");
}

function ended(job) {
  const when = job.started_at && timeOf(job.started_at); // like the index, which is as old as its last scan of the files
  const head = el("div", { class: "job-head" },
    el("h2", {}, `Last ${job.action}`),
    el("p", { class: "quiet" }, el("span", { class: `state ${job.state}` }, job.state), when && [" started ", when, `, took ${duration(job.seconds)}`]));
  if (job.report) return [head, figures(job.report), rest(job.report)];
  if (job.state === "cancelled") return [head, note("info", "Finished work is kept. The next sync continues from there.")];
  return [head, failure({ ...job.problem, trace: job.problem?.trace ?? job.problem?.trace_id })];
}

function lost(job) {
  return [
    el("h2", {}, `Lost contact with the ${job.action}`),
    note("bad", "The server does not respond. When it does, this card shows the state of the build."),
  ];
}

const FIGURES = ["created", "updated", "unchanged", "deleted", "embedded", "files"];

function figures(report) {
  return el("dl", { class: "figures" }, FIGURES.map((name) => el("div", {}, el("dt", {}, name), el("dd", {}, count(report[name])))));
}

function rest(report) {
  return [
    report.rebuilt && note("info", `The vectors were rebuilt: ${report.rebuilt}`),
    problemLists(report),
    report.known && el("p", { class: "quiet" }, el("a", { href: link("health") }, plural(report.known, "known problem"))),
  ];
}

/** Return the warnings, failed files and skipped files of a sync as lists to open. */
export function problemLists(record) {
  const problems = (rows) => rows.map((problem) => el("li", {}, el("code", {}, problem.source), ` ${problem.reason}`));
  return [
    list("warning", record.warnings.map((text) => el("li", {}, text))),
    list("failed file", problems(record.failed)),
    list("skipped file", problems(record.skipped)),
  ];
}

function list(noun, rows) {
  return rows.length > 0 && el("details", { class: "problems" }, el("summary", {}, plural(rows.length, noun)), el("ul", {}, rows));
}

const title = (action) => action[0].toUpperCase() + action.slice(1);
