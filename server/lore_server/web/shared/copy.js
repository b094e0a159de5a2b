// Copy a text to the clipboard.

import { el, say } from "./base.js";

const SHOWN_MS = 1500;

/** Create a button that copies what `textOf` returns. */
export function copyButton(name, textOf) {
  const button = el("button", { type: "button", class: "quiet-button", title: `Copy ${name}`, on: { click: copy } }, name);

  async function copy() {
    await write(textOf());
    say(`Copied the ${name}.`);
    button.dataset.done = "";
    setTimeout(() => delete button.dataset.done, SHOWN_MS);
  }

  return button;
}

/** Write to the clipboard; without permission, or over HTTP from another machine, browsers only have the older way. */
async function write(text) {
  try {
    return await navigator.clipboard.writeText(text);
  } catch {
    // below
  }
  const field = el("textarea", { class: "unseen", value: text });
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
