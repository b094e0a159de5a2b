import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { DeadJobTable, JobTable } from '../src/job-table.mjs';
import { nextDelay } from '../src/poller.mjs';

const job = (changes) => ({
  id: 'a1b2c3d4e5f6', task: 'mail.send', state: 'queued', attempts: 1, maxAttempts: 5, runAt: 100, ...changes,
});

describe('JobTable', () => {
  test('shows the short id and the attempts', () => {
    const html = new JobTable().update({ jobs: [job()] }).render();
    assert.match(html, /<td>a1b2c3d4<\/td>/);
    assert.match(html, /<td>1\/5<\/td>/);
  });

  test('escapes what comes from a job', () => {
    const html = new JobTable().update({ jobs: [job({ lastError: '"><script>' })] }).render();
    assert.ok(!html.includes('<script>'));
  });

  describe('sortBy', () => {
    const tasks = (table) => table.rows.map(({ task }) => task);

    test('sorts upwards first and reverses the second time', () => {
      const table = new JobTable().update({ jobs: [job({ task: 'b' }), job({ task: 'a' })] });
      assert.deepEqual(tasks(table.sortBy('task')), ['a', 'b']);
      assert.deepEqual(tasks(table.sortBy('task')), ['b', 'a']);
    });

    test('refuses an unknown column', () => {
      assert.throws(() => new JobTable().sortBy('payload'), RangeError);
    });
  });

  test('a page holds 50 rows', () => {
    const table = new JobTable().update({ jobs: Array.from({ length: 60 }, () => job()), page: 1 });
    assert.equal(table.rows.length, 10);
  });
});

describe('DeadJobTable', () => {
  test('offers a retry per job', () => {
    const html = new DeadJobTable().update({ jobs: [job({ state: 'dead' })] }).render();
    assert.match(html, /data-retry="a1b2c3d4e5f6"/);
  });
});

describe('nextDelay', () => {
  test('a hidden tab polls every ten seconds', () => {
    assert.equal(nextDelay({ hidden: true, failures: 0 }), 10000);
  });

  test('failures double the wait up to half a minute', () => {
    assert.equal(nextDelay({ hidden: false, failures: 2 }), 8000);
    assert.equal(nextDelay({ hidden: false, failures: 9 }), 30000);
  });
});
