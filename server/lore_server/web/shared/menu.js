// A menu of less frequent actions.

import { el } from "./base.js";

/** Create a menu of [name, action, class]. */
export function menuOf(items) {
  const menu = el("details", { class: "menu" },
    el("summary", { class: "button big", "aria-label": "More actions" }, "More"),
    el("div", { class: "menu-items" }, items.map(([name, run, kind]) => el("button", {
      type: "button", class: kind, on: { click: () => ((menu.open = false), run()) },
    }, name))));
  document.addEventListener("click", (event) => menu.contains(event.target) || (menu.open = false));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  return menu;
}
