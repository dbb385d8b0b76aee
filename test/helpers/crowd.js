/**
 * People in a document, in a process of their own so that they take no CPU time from the test or the browser: they move
 * their pointers continuously, select cells and type. Arguments: url, guid, count. Prints `here` when all of them have
 * joined the document; ends when its standard input does.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'inkcast/client'

const [, , url, guid, count] = process.argv
/** Pause between two pointer moves of one person, ms; the page uses the same for this number of members. */
const PAUSE = 40 + 4 * Number(count)

const COLORS = ['#b3202c', '#1f6f50', '#1d4ed8', '#7c3aed', '#9a3412', '#0e7490']

/** @param {number} index */
async function arrive (index) {
  const client = connect(url, { id: `crowd-${index}` })
  return client.open(guid, {
    state: { id: `crowd-${index}`, name: `Person ${index}`, color: COLORS[index % COLORS.length] }
  })
}

/** @param {import('inkcast/client').Document} doc @param {number} index */
async function live (doc, index) {
  const row = 2 + index % 11
  let typed = ''
  for (let step = 0; ; step++) {
    await delay(PAUSE)
    doc.signal('pointer', { x: 0.5 + 0.45 * Math.sin(step / 9 + index), y: 0.5 + 0.45 * Math.cos(step / 7 + index) })
    if (step % 10 === 0) doc.signal('select', { cell: `${'ABCDE'[Math.floor(step / 10 + index) % 5]}${row}` })
    if (step % 4 === 0) {
      typed = typed.length > 20 ? '' : `${typed}x`
      await doc.send({ id: `crowd-${index}:${step}`, cells: { [`E${row}`]: typed } }, { event: 'sheet:edit' })
    }
  }
}

const docs = await Promise.all(Array.from({ length: Number(count) }, (_, i) => arrive(i)))
console.log('here')
process.stdin.resume().on('end', () => process.exit(0))
await Promise.all(docs.map(live))
