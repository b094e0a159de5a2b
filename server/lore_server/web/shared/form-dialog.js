// A dialog with a form whose answer the server may refuse.

import { el, fill } from "./base.js";
import { failure } from "./parts.js";

/** Show the fields; `submit` sends them, and an error it throws is shown while the dialog stays open. */
export function formDialog({ id, title, fields, button, submit }) {
  const trouble = el("div", {});
  const yes = el("button", { class: "button primary" }, button);
  const dialog = el("dialog", { class: "dialog", "aria-labelledby": id },
    el("h2", { id }, title),
    el("form", { class: "fields", on: { submit: send } }, fields, trouble,
      el("div", { class: "actions" },
        el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Cancel"), yes)));

  async function send(event) {
    event.preventDefault();
    yes.disabled = true;
    try {
      await submit();
      dialog.close();
    } catch (problem) {
      fill(trouble, failure(problem));
    } finally {
      yes.disabled = false;
    }
  }

  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
