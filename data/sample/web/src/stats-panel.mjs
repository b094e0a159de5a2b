/**
 * @module stats-panel
 * The counts per state, and a line of the backlog over the last two minutes.
 */

import { Panel } from './panel.js';

const BARS = '▁▂▃▄▅▆▇█';

/**
 * Numbers as a line of block characters, scaled to the largest.
 * @param {number[]} values
 * @returns {string}
 */
export const sparkline = (values) => {
  const top = Math.max(1, ...values);
  return values.map((value) => BARS[Math.round((value / top) * (BARS.length - 1))]).join('');
};

/** @extends Panel */
export class StatsPanel extends Panel {
  /** Samples kept: 60 at one every 2 s are two minutes. */
  static HISTORY = 60;

  static ORDER = ['queued', 'running', 'done', 'dead', 'cancelled'];

  constructor() {
    super('Queue', { counts: {}, history: [] });
  }

  /** @override */
  get badge() {
    return this.state.counts.dead ? 'needs attention' : '';
  }

  /**
   * Takes the newest numbers.
   * @param {import('./api-client.ts').Stats} stats
   * @returns {this}
   */
  push({ counts, backlog }) {
    const history = [...this.state.history, backlog].slice(-StatsPanel.HISTORY);
    return this.update({ counts, history });
  }

  /** @override */
  body() {
    const { counts, history } = this.state;
    const items = StatsPanel.ORDER.map((name) => `<dt>${name}</dt><dd>${counts[name] ?? 0}</dd>`).join('');
    return `<dl>${items}</dl><p class="spark">${sparkline(history)}</p>`;
  }
}
