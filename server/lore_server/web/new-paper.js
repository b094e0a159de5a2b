// The dialog for a new document: title, keywords and purpose.

import { el, fill } from "./dom.js";
import { failure } from "./notes.js";
import { create } from "./paper.js";

/** Ask for the first content of a document, and create it; `created` receives its file. */
export function newPaper(project, created) {
  const title = el("input", { id: "new-title", required: true, maxlength: 200, autocomplete: "off" });
  const keywords = el("input", { id: "new-keywords", autocomplete: "off", placeholder: "api, release" });
  const introduction = el("textarea", { id: "new-introduction", rows: 3, maxlength: 2000 });
  const trouble = el("div", {});
  const yes = el("button", { class: "button primary" }, "Create and edit");
  const dialog = el("dialog", { class: "dialog", "aria-labelledby": "new-name" },
    el("h2", { id: "new-name" }, "New document"),
    el("form", { class: "fields", on: { submit } },
      el("label", { for: "new-title" }, "Title"), title,
      el("label", { for: "new-keywords" }, "Keywords, separated by commas"), keywords,
      el("label", { for: "new-introduction" }, "Purpose"), introduction,
      trouble,
      el("div", { class: "actions" },
        el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Cancel"), yes)));

  async function submit(event) {
    event.preventDefault();
    yes.disabled = true;
    try {
      const words = keywords.value.split(",").map((word) => word.trim()).filter(Boolean);
      const done = await create(project, { title: title.value, keywords: words, introduction: introduction.value });
      dialog.close();
      created(done.filename);
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
