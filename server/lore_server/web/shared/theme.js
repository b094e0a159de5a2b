// Dark or light theme: the system's, until the reader chooses another.

const KEPT = "lore-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const kept = localStorage.getItem(KEPT);
if (kept) document.documentElement.dataset.theme = kept;

/** Return whether the page is dark. */
export function isDark() {
  return (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
}

/** Make a button switch the theme, and update its label. */
export function themeButton(button) {
  const show = () => {
    button.textContent = isDark() ? "☀" : "☾";
    button.setAttribute("aria-label", isDark() ? "Use the light theme" : "Use the dark theme");
  };
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem(KEPT, next);
    show();
  });
  dark.addEventListener("change", show);
  show();
}
