/**
 * @module panel
 * A titled box that can be folded; the frame of tables and figures.
 */

import { Component, escapeHtml } from './component.js';

/**
 * @abstract
 * @extends Component
 */
export class Panel extends Component {
  /** The key under which folded panels are remembered in localStorage. */
  static STORAGE_KEY = 'ferry.folded';

  /**
   * @param {string} title shown in the header
   * @param {Record<string, unknown>} [state]
   */
  constructor(title, state = {}) {
    super({ folded: false, ...state });
    this.title = title;
  }

  /**
   * What stands below the header.
   * @abstract
   * @returns {string}
   */
  body() {
    throw new Error(`${this.constructor.name} does not implement body()`);
  }

  /** Text beside the title, e.g. a count; empty by default. */
  get badge() {
    return '';
  }

  /** @override */
  render() {
    const badge = this.badge ? ` <span class="badge">${escapeHtml(this.badge)}</span>` : '';
    const header = `<h2>${escapeHtml(this.title)}${badge}</h2>`;
    const content = this.state.folded ? '' : `<div class="panel-body">${this.body()}</div>`;
    return `<section class="panel" id="${this.id}">${header}${content}</section>`;
  }

  /**
   * Folds or unfolds the panel and remembers it where the browser allows.
   * @returns {boolean} whether the panel is folded now
   */
  toggle() {
    this.update({ folded: !this.state.folded });
    globalThis.localStorage?.setItem(`${Panel.STORAGE_KEY}.${this.title}`, String(this.state.folded));
    return Boolean(this.state.folded);
  }
}
