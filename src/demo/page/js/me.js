/** Dark enough for white text (WCAG AA), and easy to tell apart. */
export const COLORS = [
  '#b3202c',
  '#1f6f50',
  '#1d4ed8',
  '#7c3aed',
  '#9a3412',
  '#0e7490',
  '#be185d',
  '#4d7c0f',
  '#6d4c41',
  '#475569'
]

const FIRST = [
  'Amber',
  'Brisk',
  'Calm',
  'Clever',
  'Gentle',
  'Golden',
  'Lucky',
  'Merry',
  'Noble',
  'Quiet',
  'Sunny',
  'Witty'
]
const SECOND = ['Badger', 'Crane', 'Falcon', 'Fox', 'Heron', 'Lynx', 'Marten', 'Otter', 'Owl', 'Robin', 'Swift', 'Wren']

const KEY = 'inkcast demo me'

/**
 * The person in this tab: kept over reloads, and different in each tab, so that two tabs are two people.
 *
 * @typedef {{ id: string, name: string, color: string }} Me
 * @returns {Me}
 */
export function whoAmI () {
  const kept = read()
  if (kept !== null) return kept
  const number = crypto.getRandomValues(new Uint32Array(2))
  const me = {
    id: Array.from(number, (part) => part.toString(36)).join(''),
    name: `${FIRST[number[0] % FIRST.length]} ${SECOND[number[1] % SECOND.length]}`,
    color: COLORS[(number[0] >>> 8) % COLORS.length]
  }
  keep(me)
  return me
}

/** @param {Me} me */
export function keep (me) {
  try { sessionStorage.setItem(KEY, JSON.stringify(me)) } catch {} // without storage it lasts as long as the page
}

/** @returns {Me | null} */
function read () {
  try {
    const { id, name, color } = JSON.parse(sessionStorage.getItem(KEY) ?? '')
    return typeof id === 'string' && typeof name === 'string' && COLORS.includes(color) ? { id, name, color } : null
  } catch {
    return null
  }
}
