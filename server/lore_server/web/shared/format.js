// Format numbers for people.

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** 12,345 */
export const count = (number) => number.toLocaleString("en");

/** 1 file, 2 files */
export const plural = (number, noun, nouns = `${noun}s`) => `${count(number)} ${number === 1 ? noun : nouns}`;

/** 5.4 MB */
export function bytes(size) {
  let unit = 0;
  for (; size >= 1000 && unit < UNITS.length - 1; unit += 1) size /= 1000;
  return `${size.toFixed(unit && size < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

/** 0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 4 days */
export function duration(seconds) {
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
  if (whole < 172_800) return `${Math.floor(whole / 3600)} h ${Math.round((whole % 3600) / 60)} min`;
  return `${Math.round(whole / 86_400)} days`;
}

/** Format an age in seconds, such as "5 min ago". */
export function ago(seconds) {
  if (seconds === null || seconds === undefined) return "never";
  if (seconds < 5) return "just now";
  return `${duration(seconds < 60 ? Math.round(seconds) : seconds - (seconds % 60))} ago`;
}

/** Format a line range: 12, or 12-20. */
export const span = ([first, last]) => (first === last ? String(first) : `${first}-${last}`);

/** Format a score with the necessary precision. */
export const scoreText = (score) => (Math.abs(score) >= 10 ? count(Math.round(score)) : String(Number(score.toFixed(2))));
