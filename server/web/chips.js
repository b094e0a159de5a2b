// The filter by type: radio buttons that look like chips, with how much of each is indexed.

import * as api from "./api.js";
import { el, fill } from "./dom.js";
import { count, plural } from "./format.js";

export const TYPES = "guide src example test ticket release blog prp adr rule memory knowledge".split(" ");
let counts = null;

/** Chips in a row; `changed` is told the type that is chosen. */
export function typeChips(name, changed) {
  const row = el("div", { class: "chips-row" });
  const element = el("fieldset", { class: "chips" }, el("legend", { class: "unseen" }, "Only this type"), row);
  let chosen = "all";
  const show = () => fill(row, ["all", ...present(chosen)].map((type) => chip(name, type, type === chosen)));
  row.addEventListener("change", (event) => {
    chosen = event.target.value;
    changed(chosen);
  });
  document.addEventListener("lore:counts", show);
  document.addEventListener("lore:job", ({ detail }) => detail.ended && learnCounts(true));
  show();
  learnCounts();
  return {
    element,
    get type() {
      return chosen;
    },
    choose(type) {
      chosen = TYPES.includes(type) ? type : "all";
      show();
    },
  };
}

/** Tell everyone how many passages of each type there are. */
export async function learnCounts(again = false) {
  if (counts && !again) return;
  counts ??= {};
  try {
    tellCounts((await api.health()).counts);
  } catch {
    counts = null; // chips without figures; whoever needs the server says that it is gone
  }
}

/** Someone looked at the health anyway. */
export function tellCounts(found) {
  counts = found;
  document.dispatchEvent(new CustomEvent("lore:counts", { detail: counts }));
}

function present(chosen) {
  const known = counts && Object.keys(counts).length ? TYPES.filter((type) => counts[type] || type === chosen) : TYPES;
  return known.sort((one, other) => (counts?.[other] ?? 0) - (counts?.[one] ?? 0));
}

function chip(name, type, isChosen) {
  const figure = type === "all" ? sum() : counts?.[type];
  const title = figure ? `${plural(figure, "passage")} of ${type === "all" ? "every type" : `type ${type}`}` : "";
  return el(
    "label",
    { class: "chip", title },
    el("input", { type: "radio", name, value: type, checked: isChosen }),
    el("span", {}, type, figure ? el("small", {}, count(figure)) : null),
  );
}

function sum() {
  return Object.values(counts ?? {}).reduce((total, figure) => total + figure, 0);
}
