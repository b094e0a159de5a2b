/**
 * @module poller
 * Asks again and again, gently: slower in a hidden tab, slower still while the server is away.
 */

/** Milliseconds between polls while the tab is visible. */
export const VISIBLE_INTERVAL = 2000;
/** Milliseconds between polls while the tab is hidden. */
export const HIDDEN_INTERVAL = 10000;
/** The longest wait while polls fail. */
export const MAX_INTERVAL = 30000;

/**
 * The wait before the next poll: the interval, doubled for each failure in a row, at most 30 s.
 * @param {{hidden: boolean, failures: number}} situation
 * @returns {number} milliseconds
 */
export const nextDelay = ({ hidden, failures }) =>
  Math.min(MAX_INTERVAL, (hidden ? HIDDEN_INTERVAL : VISIBLE_INTERVAL) * 2 ** failures);

/** Runs an async function over and over; a new run starts only after the last one has ended. */
export class Poller {
  #timer;
  #stopped = true;

  /**
   * @param {() => Promise<void>} poll
   * @param {{onError?: (error: Error) => void, isHidden?: () => boolean}} [options]
   */
  constructor(poll, { onError = () => {}, isHidden = () => globalThis.document?.hidden ?? false } = {}) {
    this.poll = poll;
    this.onError = onError;
    this.isHidden = isHidden;
    this.failures = 0;
  }

  /**
   * Polls at once and goes on until `stop`.
   * @returns {Promise<void>} settles after the first poll
   */
  start() {
    this.#stopped = false;
    return this.#run();
  }

  /** Stops; a poll that is under way still ends. */
  stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #run() {
    try {
      await this.poll();
      this.failures = 0;
    } catch (error) {
      this.failures += 1;
      this.onError(error);
    }
    if (!this.#stopped) {
      const delay = nextDelay({ hidden: this.isHidden(), failures: this.failures });
      this.#timer = setTimeout(() => this.#run(), delay);
    }
  }
}
