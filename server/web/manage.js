// What changes the index beside a sync: behind a menu, and asked about first.

import { el } from "./dom.js";
import { start } from "./job.js";

const ACTIONS = {
  create: {
    title: "Only read the files?",
    text: "Writes the chunks and the class tree from the files. Searches stay as they are until a sync or an embed.",
    button: "Read the files",
  },
  embed: {
    title: "Only load the chunks?",
    text: "Brings words and vectors to what was read last, without looking at the files.",
    button: "Load the chunks",
  },
  delete: {
    title: "Delete the index?",
    text: "Empties the index: nothing is found until the next sync. The project's files stay, and so do cached vectors, so a sync brings it back quickly.",
    button: "Delete the index",
  },
};

/** A menu of actions, each with its confirmation; to delete, the name that `project` gives must be typed. */
export function manageMenu(project) {
  const items = Object.entries({ create: "Create…", embed: "Embed…", delete: "Delete…" });
  const menu = el("details", { class: "menu" },
    el("summary", { class: "button big", "aria-label": "More actions" }, "More"),
    el("div", { class: "menu-items" }, items.map(([action, name]) => el("button", {
      type: "button", class: action === "delete" ? "danger" : "", on: { click: () => ((menu.open = false), confirm(action, project())) },
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

function confirm(action, project) {
  const { title, text, button } = ACTIONS[action];
  const isDelete = action === "delete";
  const typed = el("input", { id: "confirm-name", autocomplete: "off", spellcheck: "false", on: { input: () => (yes.disabled = typed.value !== project) } });
  const yes = el("button", { class: isDelete ? "button danger" : "button primary", value: "yes", disabled: isDelete }, button);
  const dialog = el("dialog", { class: "dialog", "aria-labelledby": "confirm-title" },
    el("h2", { id: "confirm-title" }, title), el("p", {}, text),
    el("form", { method: "dialog" },
      isDelete && [el("label", { for: "confirm-name" }, "Type ", el("strong", {}, project), " to confirm"), typed],
      el("div", { class: "actions" },
        el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Keep as it is"), yes)));
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "yes") start(isDelete ? { action, confirm: true } : { action });
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
}
