// Ask for confirmation before a change.

import { el } from "./base.js";

/** Ask, and return whether the user agreed. With a `name`, the user must type it first. */
export function confirmed({ title, text, button, isDanger = false, name = "" }) {
  const typed = el("input", { id: "confirm-name", autocomplete: "off", spellcheck: "false", on: { input: () => (yes.disabled = typed.value !== name) } });
  const yes = el("button", { class: isDanger ? "button danger" : "button primary", value: "yes", disabled: name !== "" }, button);
  const dialog = el("dialog", { class: "dialog", "aria-labelledby": "confirm-title" },
    el("h2", { id: "confirm-title" }, title), el("p", {}, text),
    el("form", { method: "dialog" },
      name && [el("label", { for: "confirm-name" }, "Type ", el("strong", {}, name), " to confirm"), typed],
      el("div", { class: "actions" },
        el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Cancel"), yes)));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}
