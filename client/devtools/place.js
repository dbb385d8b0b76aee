/**
 * Where the panel is and which tab is open, kept in localStorage.
 *
 * @typedef {object} Place
 * @property {number | null} left px; null: at the right edge
 * @property {number | null} top px; null: at the bottom
 * @property {number} width px
 * @property {number} height px
 * @property {string} tab
 */

const KEY = 'inkcast devtools'
export const MIN_WIDTH = 300
export const MIN_HEIGHT = 180
/** @type {Place} */
const DEFAULT = { left: null, top: null, width: 480, height: 420, tab: 'documents' }

/** @returns {Place} */
export function loadPlace () {
  try {
    const { left, top, width, height, tab } = JSON.parse(localStorage.getItem(KEY) ?? '{}')
    return {
      left: typeof left === 'number' ? left : null,
      top: typeof top === 'number' ? top : null,
      width: width >= MIN_WIDTH ? width : DEFAULT.width,
      height: height >= MIN_HEIGHT ? height : DEFAULT.height,
      tab: typeof tab === 'string' ? tab : DEFAULT.tab
    }
  } catch {
    return { ...DEFAULT } // the storage is forbidden, or has something else
  }
}

/** @param {Place} place */
export function savePlace (place) {
  try {
    localStorage.setItem(KEY, JSON.stringify(place))
  } catch {} // the storage is full or forbidden
}

/**
 * The place moved into the window, which may have become smaller.
 * @param {Place} place
 * @param {{ width: number, height: number }} space of the window, px
 * @returns {{ left: number, top: number, width: number, height: number }}
 */
export function fit (place, space) {
  const width = Math.min(place.width, space.width)
  const height = Math.min(place.height, space.height)
  return {
    width,
    height,
    left: within(place.left ?? Infinity, space.width - width),
    top: within(place.top ?? Infinity, space.height - height)
  }
}

/** @param {number} value @param {number} max */
const within = (value, max) => Math.max(0, Math.min(value, max))
