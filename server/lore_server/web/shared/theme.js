// Dark or light theme: the system's, until the reader chooses another.

const KEPT = "lore-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const kept = localStorage.getItem(KEPT);
if (kept) document.documentElement.dataset.theme = kept;

/** Return whether the page is dark. */
export function isDark() {
  return (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
}

/** Make a button go through the themes: the other one, the system's by name, and again whatever the system has. */
export function themeButton(button) {
  const next = () => {
    const own = document.documentElement.dataset.theme;
    const systems = dark.matches ? "dark" : "light";
    return own === undefined ? (dark.matches ? "light" : "dark") : own === systems ? null : systems;
  };
  const show = () => {
    button.textContent = isDark() ? "☾" : "☀";
    button.title = next() ? `Use the ${next()} theme` : "Use the system's theme";
    button.setAttribute("aria-label", button.title);
  };
  button.addEventListener("click", () => {
    const chosen = next();
    if (chosen) document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
    chosen ? localStorage.setItem(KEPT, chosen) : localStorage.removeItem(KEPT);
    show();
  });
  dark.addEventListener("change", show);
  show();
}
