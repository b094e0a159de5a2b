// The type filter: check boxes that look like chips, with the number of indexed passages or of files found.

import { el, fill } from "./dom.js";
import { count, plural } from "./format.js";
import { known, learnHealth } from "./state.js";

export const TYPES = "guide src example test ticket release blog prp adr rule memory knowledge library".split(" ");
const ALL = "all";

/** Create a row of chips; `changed` is called when the chosen types change. */
export function typeChips(name, changed) {
  const row = el("div", { class: "chips-row" });
  const element = el("fieldset", { class: "chips" }, el("legend", { class: "unseen" }, "Only these types"), row);
  let chosen = [];
  let matching = null;
  let chips = new Map();

  function show() {
    chips = new Map([ALL, ...present(chosen)].map((type) => [type, chip(name, type)]));
    fill(row, [...chips.values()].map(({ label }) => label));
    update();
  }

  function update() {
    const figures = matching ?? counts();
    for (const [type, { label, input, figure }] of chips) {
      const number = type === ALL ? sum(figures) : (figures[type] ?? 0);
      input.checked = type === ALL ? !chosen.length : chosen.includes(type);
      figure.textContent = number || matching ? count(number) : "";
      label.title = number ? (matching ? `${plural(number, "file")} found` : plural(number, "passage")) : "";
      label.classList.toggle("none", !number);
    }
  }

  row.addEventListener("change", ({ target }) => {
    const { value, checked } = target;
    if (value === ALL) chosen = [];
    else chosen = TYPES.filter((type) => (type === value ? checked : chosen.includes(type)));
    update();
    changed();
  });
  document.addEventListener("lore:health", show);
  show();
  if (!known.health) learnHealth().catch(() => {}); // chips without counts: the pill reports that the server does not respond
  return {
    element,
    get types() {
      return chosen;
    },
    choose(types) {
      chosen = TYPES.filter((type) => types.includes(type));
      show();
    },
    /** Show the number of files found of each type; with null, the number of indexed passages. */
    showMatching(facets) {
      matching = facets && Object.fromEntries(facets.map(({ type, files }) => [type, files]));
      update();
    },
  };
}

const counts = () => known.health?.counts ?? {};

function present(chosen) {
  const found = counts();
  const types = Object.keys(found).length ? TYPES.filter((type) => found[type] || chosen.includes(type)) : [...TYPES];
  return types.sort((left, right) => (found[right] ?? 0) - (found[left] ?? 0));
}

function chip(name, type) {
  const input = el("input", { type: "checkbox", name, value: type });
  const figure = el("small", {});
  return { label: el("label", { class: "chip" }, input, el("span", {}, type, figure)), input, figure };
}

/** Return the number of passages. */
export const sum = (found) => Object.values(found).reduce((total, figure) => total + figure, 0);
