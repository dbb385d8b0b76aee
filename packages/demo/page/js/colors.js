/** Dark enough for white text (WCAG AA), and easy to tell apart. */
const PALETTE = [
  '#b3202c', '#1f6f50', '#1d4ed8', '#7c3aed', '#9a3412', '#0e7490', '#be185d', '#4d7c0f', '#6d4c41', '#475569'
]
/** Different colors; with more people than this they repeat. */
const MAX_COLORS = 200
/** Angle between two hues, degrees: the golden angle spreads any number of them. */
const ANGLE = 137.508

/** @param {number} index @returns {string} a color as `#1d3557`; different for each index below MAX_COLORS */
export function colorAt (index) {
  const number = index % MAX_COLORS
  if (number < PALETTE.length) return PALETTE[number]
  return darkColor((number * ANGLE) % 360, 0.45 + 0.1 * (number % 4))
}

/** @param {string} id of a person @returns {string} the color that they have if it is free */
export function colorOf (id) {
  let hash = 0
  for (let i = 0; i < id.length; i++) hash = (31 * hash + id.charCodeAt(i)) >>> 0
  return PALETTE[hash % PALETTE.length]
}

/**
 * Gives each person a color of their own. Every page comes to the same result: people who are here longer keep theirs.
 *
 * @param {{ id: string, color: string, since: number }[]} people present; a person may be listed several times
 * @returns {Map<string, string>} color by person
 */
export function assignColors (people) {
  /** @type {Map<string, string>} */
  const colors = new Map()
  const taken = new Set()
  let next = 0
  const inOrder = [...people].sort((a, b) => a.since - b.since || (a.id < b.id ? -1 : 1))
  for (const { id, color } of inOrder) {
    if (colors.has(id)) continue
    let own = color
    if (taken.has(own)) {
      while (next < MAX_COLORS && taken.has(colorAt(next))) next++
      if (next < MAX_COLORS) own = colorAt(next)
    }
    taken.add(own)
    colors.set(id, own)
  }
  return colors
}

/**
 * The brightest color of a hue that has enough contrast to white.
 * @param {number} hue degrees
 * @param {number} saturation 0 to 1
 */
function darkColor (hue, saturation) {
  for (let lightness = 0.45; ; lightness -= 0.01) {
    const rgb = rgbOf(hue, saturation, lightness)
    if (1.05 / (luminance(rgb) + 0.05) >= 4.6)
      return `#${rgb.map((part) => Math.round(255 * part).toString(16).padStart(2, '0')).join('')}`
  }
}

/** @param {number} hue @param {number} saturation @param {number} lightness @returns {number[]} 0 to 1 */
const rgbOf = (hue, saturation, lightness) => [0, 8, 4].map((n) => {
  const k = (n + hue / 30) % 12
  return lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1))
})

/** @param {number[]} rgb 0 to 1 @returns {number} relative luminance of WCAG */
function luminance (rgb) {
  const [r, g, b] = rgb.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
