// The dialog that saves an answer as a knowledge document.

import { el } from "../shared/base.js";
import { formDialog } from "../shared/form-dialog.js";
import * as api from "../shared/server.js";

/** Ask for a title and save the answer; `saved` receives the file of the document. */
export function saveAnswer(id, question, saved) {
  const title = el("input", { id: "answer-title", required: true, maxlength: 200, autocomplete: "off", value: question.slice(0, 200) });
  formDialog({
    id: "save-name",
    title: "Save this answer",
    fields: [el("label", { for: "answer-title" }, "Title of the document"), title],
    button: "Save",
    submit: async () => saved((await api.saveAnswer({ answer: id, title: title.value, author: "page" })).filename),
  });
  title.select();
}
