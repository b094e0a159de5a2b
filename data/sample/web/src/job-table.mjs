/**
 * @module job-table
 * Jobs as a table, and the dead ones with a button that revives them.
 */

import { escapeHtml } from './component.js';
import { formatAge, pluralize, shortId } from './format.js';
import { Panel } from './panel.js';

/**
 * @typedef {object} Column
 * @property {string} key the field of a job
 * @property {string} label the heading
 * @property {(job: import('./api-client.ts').Job) => string} show the cell's text, not yet escaped
 */

/**
 * A table of jobs, sortable by any column.
 * @extends Panel
 */
export class JobTable extends Panel {
  /** Rows per page; the server's default too (Dashboard.PAGE_SIZE). */
  static PAGE_SIZE = 50;

  /** @type {Column[]} */
  static COLUMNS = [
    { key: 'id', label: 'Job', show: (job) => shortId(job.id) },
    { key: 'task', label: 'Task', show: (job) => job.task },
    { key: 'state', label: 'State', show: (job) => job.state },
    { key: 'attempts', label: 'Attempts', show: (job) => `${job.attempts}/${job.maxAttempts}` },
    { key: 'runAt', label: 'Due', show: (job) => formatAge(job.runAt) },
  ];

  /** @param {string} [title] */
  constructor(title = 'Jobs') {
    super(title, { jobs: [], sortKey: 'runAt', descending: true, page: 0 });
  }

  /** @override */
  get badge() {
    return pluralize(this.state.jobs.length, 'job');
  }

  /**
   * Sorts by a column; the same column again reverses the order.
   * @param {string} key
   * @throws {RangeError} for a column that does not exist
   * @returns {this}
   */
  sortBy(key) {
    if (!JobTable.COLUMNS.some((column) => column.key === key)) {
      throw new RangeError(`no column ${key}`);
    }
    const descending = key === this.state.sortKey && !this.state.descending;
    return this.update({ sortKey: key, descending, page: 0 });
  }

  /** The jobs of the current page, in order. */
  get rows() {
    const { jobs, sortKey, descending, page } = this.state;
    const sign = descending ? -1 : 1;
    const compare = ({ [sortKey]: a }, { [sortKey]: b }) => (a === b ? 0 : a < b ? -sign : sign);
    const start = page * JobTable.PAGE_SIZE;
    return [...jobs].sort(compare).slice(start, start + JobTable.PAGE_SIZE);
  }

  /**
   * Cells after the columns; none here.
   * @protected
   * @param {import('./api-client.ts').Job} job
   * @returns {string}
   */
  // eslint-disable-next-line no-unused-vars
  actions(job) {
    return '';
  }

  /** @override */
  body() {
    const heading = ({ key, label }) => `<th data-sort="${key}">${label}</th>`;
    const head = JobTable.COLUMNS.map(heading).join('');
    const line = (job) => {
      const cells = JobTable.COLUMNS.map(({ show }) => `<td>${escapeHtml(show(job))}</td>`).join('');
      const error = escapeHtml(job.lastError);
      return `<tr class="${job.state}" title="${error}">${cells}${this.actions(job)}</tr>`;
    };
    return `<table><thead><tr>${head}</tr></thead><tbody>${this.rows.map(line).join('')}</tbody></table>`;
  }
}

/**
 * The jobs that Ferry has given up on.
 * @extends JobTable
 */
export class DeadJobTable extends JobTable {
  constructor() {
    super('Dead jobs');
  }

  /** @override */
  actions(job) {
    return `<td><button data-retry="${escapeHtml(job.id)}">Retry</button></td>`;
  }
}
