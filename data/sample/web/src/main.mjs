/**
 * @module main
 * Puts the dashboard together: two tables, the numbers, one poller.
 */

import { ApiClient } from './api-client.ts';
import { DeadJobTable, JobTable } from './job-table.mjs';
import { Poller } from './poller.mjs';
import { StatsPanel } from './stats-panel.mjs';

/**
 * Starts the dashboard in a page.
 * @param {Element} root must contain elements with the classes stats, jobs and dead
 * @param {{token?: string}} [options]
 * @returns {Poller} running already; `stop()` ends it
 */
export function start(root, { token } = {}) {
  const client = new ApiClient({ token });
  const stats = new StatsPanel().mount(root.querySelector('.stats'));
  const jobs = new JobTable().mount(root.querySelector('.jobs'));
  const dead = new DeadJobTable().mount(root.querySelector('.dead'));

  const poller = new Poller(
    async () => {
      const [numbers, latest, lost] = await Promise.all([
        client.stats(),
        client.jobs.list({ limit: JobTable.PAGE_SIZE }),
        client.jobs.list({ state: 'dead' }),
      ]);
      stats.push(numbers);
      jobs.update({ jobs: latest.items });
      dead.update({ jobs: lost.items });
    },
    { onError: (error) => console.warn('poll failed', error) },
  );

  root.addEventListener('click', async ({ target }) => {
    if (target.dataset.sort) {
      jobs.sortBy(target.dataset.sort);
    } else if (target.dataset.retry) {
      target.disabled = true;
      await client.jobs.retry(target.dataset.retry);
    }
  });
  poller.start();
  return poller;
}
