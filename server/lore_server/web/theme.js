// Dark or light: as the system has it, until the reader says otherwise.

const KEPT = "lore-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const kept = localStorage.getItem(KEPT);
if (kept) document.documentElement.dataset.theme = kept;

/** Whether the page is dark now. */
export function isDark() {
  return (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
}

/** Let a button change the theme; what it says follows. */
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
