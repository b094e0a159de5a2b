// The type filter: radio buttons that look like chips, with the number of indexed passages.

import { el, fill } from "./dom.js";
import { count, plural } from "./format.js";
import { known, learnHealth } from "./state.js";

export const TYPES = "guide src example test ticket release blog prp adr rule memory knowledge".split(" ");

/** Create a row of chips; `changed` receives the chosen type. */
export function typeChips(name, changed) {
  const row = el("div", { class: "chips-row" });
  const element = el("fieldset", { class: "chips" }, el("legend", { class: "unseen" }, "Only this type"), row);
  let chosen = "all";
  const show = () => fill(row, ["all", ...present(chosen)].map((type) => chip(name, type, type === chosen)));
  row.addEventListener("change", (event) => {
    chosen = event.target.value;
    changed(chosen);
  });
  document.addEventListener("lore:health", show);
  show();
  if (!known.health) learnHealth().catch(() => {}); // chips without counts: the pill reports that the server does not respond
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

const counts = () => known.health?.counts ?? {};

function present(chosen) {
  const found = counts();
  const types = Object.keys(found).length ? TYPES.filter((type) => found[type] || type === chosen) : [...TYPES];
  return types.sort((one, other) => (found[other] ?? 0) - (found[one] ?? 0));
}

function chip(name, type, isChosen) {
  const figure = type === "all" ? sum(counts()) : counts()[type];
  const title = figure ? `${plural(figure, "chunk")} of ${type === "all" ? "every type" : `type ${type}`}` : "";
  return el(
    "label",
    { class: "chip", title },
    el("input", { type: "radio", name, value: type, checked: isChosen }),
    el("span", {}, type, figure ? el("small", {}, count(figure)) : null),
  );
}

/** Return the number of passages. */
export const sum = (found) => Object.values(found).reduce((total, figure) => total + figure, 0);
