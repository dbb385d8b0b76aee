/**
 * One room of a given size: all members join within some seconds, then states change.
 */
import { startChild } from '../../packages/load/child.js'
import { waitUntil } from '../../test/services/wait.js'
import { difference, sample } from '../measure/processes.js'

/** @typedef {import('./client-process.js').Commands} Commands */

const FILE = new URL('client-process.js', import.meta.url)
/** Duration of the state changes, ms, and the share of members that change per second. */
const CHANGING_MS = 5000
const CHANGING_SHARE = 0.1

/**
 * @param {import('../systems/system.js').System} system
 * @param {{ members: number, joinMs: number, secret: string }} settings
 */
export async function runRound (system, { members, joinMs, secret }) {
  const { call: ask, stop } = /** @type {import('../../packages/load/child.js').Child<Commands>} */ (startChild(FILE))
  const workers = system.processes.filter(({ role }) => role === 'gateway')

  /** @returns {Promise<{ p99: number, max: number }>} of the slowest worker since the last call */
  async function lag () {
    const lines = () =>
      system
        .output()
        .split('\n')
        .filter((line) => line.startsWith('probe '))
        .map((line) => JSON.parse(line.slice(6)))
    const { length } = lines()
    for (const { pid } of workers) process.kill(pid, 'SIGUSR2')
    await waitUntil('the probes', async () => {
      if (lines().length < length + workers.length) throw new Error('not all lines yet')
    })
    const found = lines().slice(length)
    return { p99: Math.max(...found.map(({ p99 }) => p99)), max: Math.max(...found.map(({ max }) => max)) }
  }

  const guid = `room-${members}`
  try {
    const opened = await ask('open', { target: system.target, secret, count: members })
    if (opened.ok < members) throw new Error(`${JSON.stringify(opened.failures)} while connecting`)
    await lag()
    const before = sample(workers)
    const begin = performance.now()
    const { latency, failures } = await ask('join', { guid, ms: joinMs })
    const joinedMs = performance.now() - begin
    await waitUntil('every member to know the number of all', async () => {
      const counts = await ask('counts')
      if (counts.some((count) => count !== members)) throw new Error(`between ${counts.join(' and ')} of ${members}`)
    })
    const knownMs = performance.now() - begin
    const joinCpuMs = difference(before, sample(workers)).reduce((sum, { cpuMs }) => sum + cpuMs, 0)
    const joining = {
      ...(await ask('look')),
      joinedMs: Math.round(joinedMs),
      knownMs: Math.round(knownMs),
      cpuMs: Math.round(joinCpuMs),
      lag: await lag(),
      latency,
      failures
    }

    await ask('change', { guid, ms: CHANGING_MS, count: Math.round(members * CHANGING_SHARE * CHANGING_MS / 1000) })
    const changing = { ...await ask('look'), lag: await lag() }
    await ask('close')
    return { members, joining, changing }
  } finally {
    stop()
  }
}
/** @typedef {Awaited<ReturnType<typeof runRound>>} RoundResult */
