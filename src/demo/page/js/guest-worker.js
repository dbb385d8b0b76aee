import { connect } from '/client/index.js'
import { COLORS } from './me.js'

const NAMES = [
  'Ada',
  'Grace',
  'Alan',
  'Edsger',
  'Barbara',
  'Tim',
  'Radia',
  'Ken',
  'Frances',
  'Donald',
  'Margaret',
  'Leslie'
]
const NOTES = [
  'looks good to me',
  'asked the press office',
  'needs one more day',
  'moved to Friday',
  'done, please check',
  'who takes this?',
  'see the wiki',
  'cake is ordered'
]
const COMMENTS = [
  'Can we finish this today?',
  'I like it.',
  'Let us rehearse at three.',
  'Numbers are from this morning.',
  'Ship it!'
]
const STATUS = ['to do', 'in progress', 'done']

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))
const any = (/** @type {string[]} */ list) => list[Math.floor(Math.random() * list.length)]
const between = (/** @type {number} */ low, /** @type {number} */ high) => low + Math.random() * (high - low)

/** @type {any[]} */
const guests = []

addEventListener('message', ({ data: { guid, origin, count } }) => {
  while (guests.length < count)
    guests.push(visit(guests.length, guid, origin).catch((error) => console.warn('a guest has left', error)))
})

/** @param {number} index @param {string} guid @param {string} origin */
async function visit (index, guid, origin) {
  const me = {
    id: `guest-${index}-${Math.random().toString(36).slice(2, 8)}`,
    name: NAMES[index % NAMES.length],
    color: COLORS[index % COLORS.length]
  }
  const client = connect(origin, { id: me.id })
  const doc = await client.open(guid, { state: me })
  const row = 2 + index % 11
  const at = { x: Math.random(), y: Math.random() }
  let number = 0
  const send = (/** @type {string} */ event, /** @type {object} */ data) =>
    doc.send({ id: `${me.id}:${++number}`, ...data }, { event }).catch(() => {})

  /** @param {number} x @param {number} y */
  async function moveTo (x, y) {
    const from = { ...at }
    const steps = 12
    for (let step = 1; step <= steps; step++) {
      const t = step / steps
      const eased = t * t * (3 - 2 * t)
      Object.assign(at, { x: from.x + (x - from.x) * eased, y: from.y + (y - from.y) * eased })
      doc.signal('pointer', at)
      await pause(60)
    }
  }

  for (;;) {
    await pause(between(300, 2500))
    const status = Math.random() < 0.3
    const cell = `${status ? 'D' : 'E'}${row}`
    await moveTo(status ? between(0.58, 0.72) : between(0.8, 0.97), (row + 0.3 + Math.random() * 0.4) / 13)
    doc.signal('select', { cell })
    const text = any(status ? STATUS : NOTES)
    if (status) await send('sheet:edit', { cells: { [cell]: text } })
    else {
      for (let length = 1; length <= text.length; length++) {
        await send('sheet:edit', { cells: { [cell]: text.slice(0, length) } })
        await pause(between(40, 140))
      }
    }
    if (Math.random() < 0.15) await send('sheet:comment', { text: any(COMMENTS), name: me.name, color: me.color, cell })
    await pause(between(400, 1200))
    doc.signal('select', { cell: null })
    if (Math.random() < 0.5) await moveTo(Math.random(), Math.random())
  }
}
