// From the field of a search into its list, by keyboard.

/** Goes as far down as keys were pressed while `ready` was awaited; `forget` them when something else is typed. */
export function intoList(ready, titles) {
  let steps = 0;
  return {
    forget() {
      steps = 0;
    },
    /** A key in the field; whether it was for the list. */
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
