import { connect } from '/client/index.js'
import { assignColors, colorAt } from './colors.js'
import { personsIn } from './persons.js'
import { createColumns } from './guest-columns.js'
import { typeText } from './guest-typing.js'
import { tokenFor } from './token.js'

const NAMES = [
  'Ada', 'Grace', 'Alan', 'Edsger', 'Barbara', 'Tim', 'Radia', 'Ken', 'Frances', 'Donald', 'Margaret', 'Leslie'
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
const TASKS = [
  'Print the badges',
  'Book the band',
  'Test the microphones',
  'Water the plants',
  'Call the caterer',
  'Choose a playlist'
]
const COMMENTS = [
  'Can we finish this today?',
  'I like it.',
  'Let us rehearse at three.',
  'Numbers are from this morning.',
  'Ship it!'
]
const STATUS = ['to do', 'in progress', 'done']
/** Time before a guest writes, ms: longer than pages need to send their selections to newcomers. */
const LOOK_AROUND = 2000
/** Middle of each column on the sheet, from 0 to 1. */
const MIDDLES = { A: 0.19, B: 0.39, D: 0.67, E: 0.88 }
/** Row of each guest. Every second one adds tasks below those that there are. */
const GUEST_ROWS = [7, 3, 8, 5, 9, 2, 10, 4, 11, 6, 12]
const FIRST_NEW_TASK = 7

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))
const any = (/** @type {readonly string[]} */ list) => list[Math.floor(Math.random() * list.length)]
const between = (/** @type {number} */ low, /** @type {number} */ high) => low + Math.random() * (high - low)

/** @type {any[]} */
const guests = []
/** Columns in which visitors work: guests keep out of them. */
const columns = createColumns()

/** The guests are to leave: no text is begun any more. */
let leaving = false
/** @type {Set<Promise<unknown>>} texts that are being written; bounded by the guests */
const writing = new Set()

addEventListener('message', ({ data: { guid, origin, path, source, count = 0, cell, leave = false } }) => {
  if (leave) return void end()
  columns.host(cell)
  while (guests.length < count)
    guests.push(visit(guests.length, { guid, origin, path, source }).catch((error) => console.warn('a guest has left', error)))
})

/** Ends this worker when every text that was begun is whole. */
async function end () {
  leaving = true
  await Promise.all(writing)
  close()
}

/**
 * @param {number} index
 * @param {{ guid: string, origin: string, path: string, source: import('./token.js').TokenSource }} place
 */
async function visit (index, { guid, origin, path, source }) {
  const me = {
    id: `guest-${index}-${Math.random().toString(36).slice(2, 8)}`,
    name: NAMES[index % NAMES.length],
    color: colorAt(index),
    since: Date.now(),
    guest: true
  }
  const client = connect(origin, { id: me.id, token: tokenFor(source, guid, me.id), socket: { path } })
  const doc = await client.open(guid, { state: me })
  doc.on('presence', () => {
    const persons = personsIn(doc.presence)
    columns.present(persons)
    const color = assignColors(persons).get(me.id)
    if (color === undefined || color === me.color) return
    me.color = color
    doc.setState({ ...me }).catch(() => {})
  })
  doc.on('select', ({ cell }, { from }) => columns.selected(from, cell))
  const row = GUEST_ROWS[index % GUEST_ROWS.length]
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

  /** @param {keyof typeof MIDDLES} column */
  async function write (column) {
    const cell = `${column}${row}`
    await moveTo(MIDDLES[column] + between(-0.06, 0.06), (row + between(0.3, 0.7)) / 13)
    doc.signal('select', { cell })
    if (column === 'B') return send('sheet:edit', { cells: { [cell]: me.name } })
    if (column === 'D') return send('sheet:edit', { cells: { [cell]: any(STATUS) } })
    const task = typeText(any(column === 'A' ? TASKS : NOTES), {
      put: (text) => send('sheet:edit', { cells: { [cell]: text } }),
      pause: () => pause(between(40, 140)),
      mustGo: () => leaving || !columns.isFree(column),
      isVisitors: () => columns.isAt(cell)
    })
    writing.add(task)
    await task
    writing.delete(task)
  }

  // other visitors tell newcomers where they are
  for (const until = performance.now() + LOOK_AROUND; performance.now() < until;) {
    await moveTo(Math.random(), Math.random())
    await pause(between(100, 400))
  }
  while (!leaving) {
    await pause(between(300, 2500))
    const usual = row >= FIRST_NEW_TASK ? 'A' : 'E'
    const free = columns.free().filter((column) => column !== 'A' || usual === 'A')
    const column = free.includes(usual) && Math.random() < 0.6 ? usual : any(free)
    if (column !== undefined && !leaving) await write(/** @type {keyof typeof MIDDLES} */ (column))
    if (Math.random() < 0.15) {
      const cell = `${column ?? 'A'}${row}`
      await send('sheet:comment', { text: any(COMMENTS), name: me.name, color: me.color, cell })
    }
    await pause(between(400, 1200))
    doc.signal('select', { cell: null })
    if (Math.random() < 0.5) await moveTo(Math.random(), Math.random())
  }
}
