/**
 * Renders dashboard panels to the terminal, without a browser or a server:
 *
 *     node examples/dashboard.mjs
 *
 * It shows that components are plain objects that turn state into HTML.
 */

import { DeadJobTable } from '../web/src/job-table.mjs';
import { StatsPanel } from '../web/src/stats-panel.mjs';

const stats = new StatsPanel();
for (const backlog of [0, 3, 9, 14, 8, 2]) {
  stats.push({ counts: { queued: backlog, running: 1, done: 120, dead: 1, cancelled: 0 }, backlog });
}

const dead = new DeadJobTable().update({
  jobs: [
    {
      id: '9f86d081884c7d659a2feaa0c55ad015',
      task: 'invoices.render',
      state: 'dead',
      attempts: 5,
      maxAttempts: 5,
      runAt: Date.now() / 1000 - 240,
      lastError: 'ConnectionError: refused',
    },
  ],
});

console.log(stats.render());
console.log(dead.render());
