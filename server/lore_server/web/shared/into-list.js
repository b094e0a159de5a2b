// Move from a search field into its list with the keyboard.

/** Move between the titles of a list with the arrow keys; above the first is the field, below the last what `after()` returns. */
export function alongList(event, titles, field, after = () => null) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || event.target.closest(".why")) return;
  event.preventDefault();
  const at = titles.indexOf(event.target.closest(".result")?.querySelector(".title")) + step;
  (at < 0 ? field : (titles[at] ?? after()))?.focus();
}

/** Move down by the number of keys pressed while waiting for `ready`; `forget` drops them when the query changes. */
export function intoList(ready, titles) {
  let steps = 0;
  return {
    forget() {
      steps = 0;
    },
    /** Handle a key in the field; return whether it was meant for the list. */
    press(event) {
      if (event.key !== "ArrowDown" && event.key !== "Enter") return false;
      event.preventDefault();
      steps = event.key === "Enter" ? Math.max(steps, 1) : steps + 1;
      enter();
      return true;
    },
  };

  async function enter() {
    await ready();
    const wanted = steps;
    steps = 0;
    if (wanted) titles().slice(0, wanted).at(-1)?.focus();
  }
}
