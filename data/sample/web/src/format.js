/**
 * @module format
 * Values as people read them. Pure functions; times are in seconds, as the API sends them.
 */

const UNITS = [
  [86400, 'd'],
  [3600, 'h'],
  [60, 'min'],
];

/**
 * A duration in its largest unit: 90 is "1.5 min", 0.25 is "250 ms".
 * @param {number} seconds
 * @returns {string}
 */
export const formatDuration = (seconds) => {
  if (seconds < 1) {
    return `${Math.round(seconds * 1000)} ms`;
  }
  const [size, unit] = UNITS.find(([limit]) => seconds >= limit) ?? [1, 's'];
  return `${Math.round((seconds / size) * 10) / 10} ${unit}`;
};

/**
 * A moment relative to now: "in 8 s" for the next retry, "3 min ago" for the last change.
 * @param {number} moment Unix time
 * @param {number} [now] Unix time
 * @returns {string}
 */
export const formatAge = (moment, now = Date.now() / 1000) =>
  moment > now ? `in ${formatDuration(moment - now)}` : `${formatDuration(now - moment)} ago`;

/**
 * The first eight characters of a random job id. Ids of scheduled jobs (`sched:...`) stay whole,
 * because their beginning is what they have in common.
 * @param {string} id
 * @returns {string}
 */
export const shortId = (id) => (id.startsWith('sched:') ? id : id.slice(0, 8));

/**
 * "1 job", "3 jobs".
 * @param {number} count
 * @param {string} noun
 * @returns {string}
 */
export function pluralize(count, noun) {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
