/**
 * @module component
 * The base of everything that the dashboard draws. Components render to a string, so they run in
 * Node without a DOM; only `mount` and `update` touch the page.
 */

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/**
 * Escapes text for HTML. Every value that comes from a job must pass through here.
 * @param {unknown} text
 * @returns {string}
 */
export function escapeHtml(text) {
  return String(text ?? '').replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

/**
 * A piece of the page with its own state.
 * @abstract
 */
export class Component {
  /** How many components were made; gives each its id. */
  static count = 0;

  /** @param {Record<string, unknown>} [state] what the component starts with */
  constructor(state = {}) {
    Component.count += 1;
    /** @readonly */
    this.id = `ferry-${Component.count}`;
    this.state = state;
    /** @type {Element | null} */
    this.element = null;
    this.lastHtml = '';
  }

  /**
   * The component as HTML.
   * @abstract
   * @returns {string}
   */
  render() {
    throw new Error(`${this.constructor.name} does not implement render()`);
  }

  /**
   * Puts the component into the page.
   * @param {Element} element its content is replaced
   * @returns {this}
   */
  mount(element) {
    this.element = element;
    this.lastHtml = '';
    return this.update({});
  }

  /**
   * Merges changes into the state and draws again, but only when the HTML differs: rewriting equal
   * HTML every two seconds would drop the reader's text selection and scroll position.
   * @param {Record<string, unknown>} changes
   * @returns {this}
   */
  update(changes) {
    this.state = { ...this.state, ...changes };
    if (this.element) {
      const html = this.render();
      if (html !== this.lastHtml) {
        this.element.innerHTML = html;
        this.lastHtml = html;
      }
    }
    return this;
  }
}
