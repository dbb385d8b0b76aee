import { escaped } from './escape.js'

/**
 * @param {import('./window.js').Window} window
 * @param {number} most
 * @returns {{ at: number, label: string }[]} ticks at round times
 */
export function ticks ({ from, until }, most) {
  const least = Math.max((until - from) / most, 1e-6)
  const power = 10 ** Math.floor(Math.log10(least))
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10)
  const digits = Math.max(0, Math.ceil(-Math.log10(step / 1000) - 1e-9))
  const first = Math.ceil(from / step)
  return Array.from({ length: Math.max(0, Math.floor(until / step) - first + 1) }, (_, i) => {
    const at = (first + i) * step
    return { at, label: `${(at / 1000).toFixed(digits)} s` }
  })
}

/**
 * @param {import('./window.js').Window} window
 * @param {{ x: (at: number) => number, top: number, bottom: number, width: number }} place
 * @returns {string} SVG
 */
export const axis = (window, { x, top, bottom, width }) => ticks(window, width / 110).map(({ at, label }) => {
  const left = x(at).toFixed(1)
  return `<line class="grid" x1="${left}" x2="${left}" y1="${top}" y2="${bottom}"/><text class="time" x="${left}" y="${top - 6}" ` +
    `text-anchor="middle">${escaped(label)}</text>`
}).join('')
