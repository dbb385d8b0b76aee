import assert from 'node:assert/strict'
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { quantiles } from '../../bench/measure/quantiles.js'
import { saveRow } from './rows.js'
import { say } from './scene.js'

/**
 * Time in which clients must be complete, time to publish more if they are not, ms, and the maximum number of
 * repetitions.
 */
const QUIET = 2000
const MORE = 500
const TRIES = 20

/**
 * Repeats a fault while records are published. After each round every client must have the last record of each of its
 * documents; a resync may replace records it missed. All rounds share one row.
 *
 * @param {import('./scene.js').Scene} scene
 * @param {string} name
 * @param {number} count
 * @param {(round: number) => Promise<string>} make resolves with a description when the fault is over
 */
export async function faultRounds (scene, name, count, make) {
  const { clients, publisher } = scene
  const load = loadavg()[0]
  const numbers = { ...publisher.published }
  const lasted = []
  /** Rounds without a resync. */
  let healed = 0
  let resyncs = 0
  await clients.measure()
  try {
    for (let round = 0; round < count; round++) {
      publisher.start()
      const begin = performance.now()
      const what = await make(round)
      lasted.push(performance.now() - begin)
      await completed(scene)
      const { clients: reports } = await clients.report()
      const now = sumOf(reports, 'resyncs')
      if (now === resyncs) healed++
      say(
        `${name}, ${round + 1} of ${count}: ${what}; ${now - resyncs} resyncs, ${faultsOf(reports, 'lost')} lost so far`
      )
      resyncs = now
    }
  } finally {
    await publisher.stop()
    const { clients: reports, refusals } = await clients.report()
    const { published } = publisher
    saveRow({
      fault: `${name}, ${lasted.length} times`,
      clients: reports.length,
      records: Object.keys(published).reduce((total, guid) => total + published[guid] - (numbers[guid] ?? 0), 0),
      deliveries: sumOf(reports, 'received'),
      lost: faultsOf(reports, 'lost'),
      disordered: faultsOf(reports, 'disordered'),
      doubled: faultsOf(reports, 'doubled'),
      dropped: sumOf(reports, 'repeated'),
      resyncs: sumOf(reports, 'resyncs'),
      bridged: sumOf(reports, 'bridged'),
      reconnects: sumOf(reports, 'connects'),
      lasted: Math.round(lasted.reduce((sum, each) => sum + each, 0)),
      gaps: quantiles(reports.map(({ stall }) => stall), 0),
      normal: null,
      load: [load, loadavg()[0]].map((each) => Math.round(each * 10) / 10),
      refusals,
      more: { 'rounds without any resync:': healed }
    })
    assert.deepEqual(reports.flatMap(({ details }) => details).slice(0, 10), [], 'nothing lost, out of order or twice')
  }
}

/**
 * Publishes more until all clients are complete: the last client to reconnect, if it had to resync, has the last record
 * only after a further one.
 * @param {import('./scene.js').Scene} scene
 */
async function completed ({ publisher, complete }) {
  for (let tries = 1; ; tries++) {
    await publisher.stop()
    try {
      return await complete(QUIET)
    } catch (error) {
      if (tries === TRIES) throw error
    }
    publisher.start()
    await delay(MORE)
  }
}

/** @typedef {import('./client-pool.js').ClientReport} ClientReport */

/** @param {ClientReport[]} reports @param {'received' | 'repeated' | 'resyncs' | 'bridged' | 'connects'} what */
const sumOf = (reports, what) => reports.reduce((total, report) => total + report[what], 0)

/** @param {ClientReport[]} reports @param {string} kind */
const faultsOf = (reports, kind) => reports.reduce((total, { faults }) => total + (faults[kind] ?? 0), 0)
