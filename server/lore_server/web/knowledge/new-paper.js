// The dialog for a new document: title, keywords and purpose.

import { el } from "../shared/base.js";
import { formDialog } from "../shared/form-dialog.js";
import { create } from "../shared/paper.js";

/** Ask for the first content of a document, and create it; `created` receives its file. */
export function newPaper(project, created) {
  const title = el("input", { id: "new-title", required: true, maxlength: 200, autocomplete: "off" });
  const keywords = el("input", { id: "new-keywords", autocomplete: "off", placeholder: "api, release" });
  const introduction = el("textarea", { id: "new-introduction", rows: 3, maxlength: 2000 });

  async function submit() {
    const words = keywords.value.split(",").map((word) => word.trim()).filter(Boolean);
    created((await create(project, { title: title.value, keywords: words, introduction: introduction.value })).filename);
  }

  formDialog({
    id: "new-name",
    title: "New document",
    fields: [
      el("label", { for: "new-title" }, "Title"), title,
      el("label", { for: "new-keywords" }, "Keywords, separated by commas"), keywords,
      el("label", { for: "new-introduction" }, "Purpose"), introduction,
    ],
    button: "Create and edit",
    submit,
  });
}
