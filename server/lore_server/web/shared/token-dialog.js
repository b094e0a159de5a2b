// Ask the reader for the token if the server does not include it in the page.

import { el, keepToken, TOKEN } from "./base.js";

let askingToken = null;
let wasDeclined = false;

/** Ask once for all waiting requests; return whether a token was entered. After a refusal, the next action asks again. */
export async function askForToken(wasRefused) {
  if (wasDeclined && !navigator.userActivation.isActive) return false;
  askingToken ??= tokenDialog(wasRefused).finally(() => (askingToken = null));
  return askingToken;
}

function tokenDialog(wasRefused) {
  const input = el("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const dialog = el(
    "dialog",
    { class: "dialog", "aria-labelledby": "token-title" },
    el("h2", { id: "token-title" }, "This server requires its token"),
    el("p", {}, wasRefused ? "That token was rejected. " : "", "The token is in the file that `lore serve` printed at startup. It is kept until you close this tab."),
    el("form", { method: "dialog" },
      el("label", { for: "token" }, "Token"), input,
      el("div", { class: "actions" },
        el("button", { type: "button", class: "button", on: { click: () => dialog.close() } }, "Cancel"),
        el("button", { class: "button primary", value: "given" }, "Use token"))),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const isGiven = dialog.returnValue === "given" && input.value.trim() !== "";
      if (isGiven) keepToken(input.value);
      if (isGiven) TOKEN.tell();
      wasDeclined = !isGiven;
      dialog.remove();
      resolve(isGiven);
    });
  });
}
