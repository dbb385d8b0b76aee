import { colorOf } from './colors.js'

const FIRST = [
  'Amber', 'Brisk', 'Calm', 'Clever', 'Gentle', 'Golden', 'Lucky', 'Merry', 'Noble', 'Quiet', 'Sunny', 'Witty'
]
const SECOND = ['Badger', 'Crane', 'Falcon', 'Fox', 'Heron', 'Lynx', 'Marten', 'Otter', 'Owl', 'Robin', 'Swift', 'Wren']

const KEY = 'inkcast demo me'

/**
 * The person in this tab: kept over reloads, and different in each tab, so that two tabs are two people. A duplicated
 * tab has a copy of the storage; it becomes another person.
 *
 * @typedef {{ id: string, name: string, color: string, since: number }} Me
 * @param {(id: string) => Promise<boolean>} claim false: another tab is this person
 * @returns {Promise<Me>}
 */
export async function whoAmI (claim) {
  const kept = read()
  const me = kept !== null && await claim(kept.id) ? { ...kept, since: Date.now() } : newPerson()
  if (me.id !== kept?.id) claim(me.id)
  keep(me)
  return me
}

/** @returns {Me} */
function newPerson () {
  const number = crypto.getRandomValues(new Uint32Array(2))
  const id = Array.from(number, (part) => part.toString(36)).join('')
  return {
    id,
    name: `${FIRST[number[0] % FIRST.length]} ${SECOND[number[1] % SECOND.length]}`,
    color: colorOf(id),
    since: Date.now()
  }
}

/**
 * The person of the second view on the same page.
 * @param {Me} me
 * @returns {Me}
 */
export function companionOf (me) {
  const id = `${me.id}-2`
  const hash = [...me.id].reduce((sum, letter) => sum + letter.charCodeAt(0), 0)
  const names = SECOND.filter((name) => !me.name.includes(name))
  const first = FIRST.filter((name) => !me.name.includes(name))
  return {
    id,
    name: `${first[hash % first.length]} ${names[hash % names.length]}`,
    color: colorOf(id),
    since: Date.now()
  }
}

/** @param {Me} me */
export function keep ({ id, name, color }) {
  // without storage it lasts as long as the page
  try { sessionStorage.setItem(KEY, JSON.stringify({ id, name, color })) } catch {}
}

/** @returns {Pick<Me, 'id' | 'name' | 'color'> | null} */
function read () {
  try {
    const { id, name, color } = JSON.parse(sessionStorage.getItem(KEY) ?? '')
    return [id, name, color].every((text) => typeof text === 'string') ? { id, name, color } : null
  } catch {
    return null
  }
}
