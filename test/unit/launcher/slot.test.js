import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { Slot } from '../../../src/operate/launcher/slot.js'
import { manualClock } from '../../helpers/manual-clock.js'

/** A slot whose processes do only what a test says. */
function scriptedSlot () {
  /** @type {Record<string, string | undefined>} */
  const env = {}
  const clock = manualClock()
  /** @type {any[]} */
  const processes = []
  const slot = new Slot(
    { role: 'gateway', slot: 0, file: '', clustered: false, env, execArgv: [], stopTimeout: 3000 },
    {
      onChange () {}, onWaits () {}, onListen () {}, onRestart () {}, onHandover () {},
      onGiveUp (reason) { throw new Error(reason) }
    },
    {
      clock,
      random: { number: () => 0.5 },
      fork () {
        /** @type {any} */
        const process = Object.assign(new EventEmitter(), {
          pid: processes.length + 1,
          ended: false,
          send () {},
          kill () {},
          ready: () => process.emit('message', { type: 'ready' }),
          end () {
            process.ended = true
            process.emit('exit', 1, null)
          }
        })
        processes.push(process)
        return process
      }
    }
  )
  slot.start()
  return { slot, env, clock, processes }
}

test('a reload that fails while the old process waits for its restart starts one process', async () => {
  const { slot, clock, processes } = scriptedSlot()
  processes[0].ready()
  processes[0].end()
  await clock.pass(1)
  processes[1].ready()
  const reload = slot.reload(100)
  // its process is never ready, and takes its time to stop: the old one crashes meanwhile
  await clock.pass(100)
  processes[1].end()
  processes[2].end()
  assert.match(String(await reload), /not ready within 100 ms/)
  await clock.pass(60_000)
  assert.deepEqual(slot.children.map(({ pid }) => pid), processes.filter(({ ended }) => !ended).map(({ pid }) => pid))
  assert.equal(slot.children.length, 1)
})

test('connections that a process had not taken when it ended are closed', async () => {
  const { slot, processes } = scriptedSlot()
  const [process] = processes
  process.ready()
  /** @type {string[]} */
  const closed = []
  /** @type {Function[]} */
  const sent = []
  process.send = (/** @type {any} */ ...args) => { sent.push(args[3]) }
  const child = /** @type {import('../../../src/operate/launcher/child.js').Child} */ (slot.current)
  const handOver = (/** @type {string} */ name) => child.handOver({}, { close: () => closed.push(name) })
  handOver('taken')
  handOver('queued')
  sent[0]()
  assert.deepEqual(closed, ['taken'])
  process.end()
  assert.deepEqual(closed, ['taken', 'queued'])
  handOver('late')
  assert.deepEqual(closed, ['taken', 'queued', 'late'])
})

test('a process that was starting when its machine was cordoned, or no longer, learns it', () => {
  const { slot, env, processes } = scriptedSlot()
  const told = () => processes.map((process) => process.told)
  const start = (/** @type {string | undefined} */ later) => {
    const process = processes.at(-1)
    process.told = []
    process.send = (/** @type {any} */ message) => { process.told.push(message) }
    env.INKCAST_CORDONED = later
    process.ready()
  }
  start('1')
  slot.start()
  start(undefined)
  slot.start()
  start(undefined)
  assert.deepEqual(told(), [[{ type: 'cordon', cordoned: true }], [{ type: 'cordon', cordoned: false }], []])
})
