import { rm } from 'node:fs/promises'
import path from 'node:path'
import { byName, nameOf, socketsIn } from './ask-processes.js'
import { metricsFor, readStatus } from './private-listener.js'
import { isStale, peerOf } from './run-directory.js'

/**
 * The processes of one machine, found by their private listeners in the run directory. That directory is the only
 * registry there is, so it does not matter who started them.
 *
 * @typedef {import('./status.js').ProcessStatus} ProcessStatus
 * @typedef {import('./private-listener.js').Wanted} Wanted
 * @typedef {ProcessStatus & { id: string }} Seen `id` is another one after a restart of the process
 * @typedef {{ processes: Seen[], reasons: string[] }} Overview reasons: why this machine does not serve;
 *   empty: it does
 */

/** How long a process may take to answer for its status, ms. */
const TIMEOUT = 2000
/** How often processes are asked once more because some of them were replaced meanwhile. */
const MAX_REPEATS = 2
/** Id of the asking process. */
const OWN = 'own'

/** @param {string} file @param {string} reason @returns {Seen} a process without an answer */
const silent = (file, reason) => ({ id: file, name: nameOf(file), notReady: [reason], metrics: [] })

/**
 * @param {object} options
 * @param {string} options.directory
 * @param {Record<string, number>} options.expected how many processes each role must have ready
 * @param {(metrics?: readonly string[]) => Promise<ProcessStatus>} [options.own] of the asking process, if it has no
 *   private listener
 * @param {(pid: number) => boolean} [options.isHung] whether a process does not answer, so that none waits for it
 */
export function createProcesses ({ directory, expected, own, isHung = () => false }) {
  /** @param {string} file @param {Wanted} wanted @returns {Promise<Seen | null>} */
  async function ask (file, wanted) {
    const socket = path.join(directory, file)
    if (isHung(Number(file.split('.')[1]))) return silent(file, 'does not answer')
    try {
      return { ...await readStatus(socket, TIMEOUT, wanted), id: file }
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
      // a process that was killed has left its socket, and one that has just begun does not listen yet
      if (code === 'ECONNREFUSED' && isStale(file))
        for (const left of [socket, peerOf(socket)]) await rm(left, { force: true })
      if (code === 'ECONNREFUSED' || code === 'ENOENT') return null
      return silent(file, `does not answer: ${message}`)
    }
  }

  return {
    /** @param {Wanted} [wanted] metrics; default: all @returns {Promise<Overview>} */
    async read (wanted = 'all') {
      let files = await socketsIn(directory)
      for (let repeats = 0; ; repeats++) {
        const itself = own ? [own(metricsFor(wanted)).then((status) => ({ ...status, id: OWN }))] : []
        const answers = await Promise.all([...files.map((file) => ask(file, wanted)), ...itself])
        const now = await socketsIn(directory)
        const processes = answers.filter((answer) => answer !== null).sort(byName)
        // a process may have been replaced by one that was not in the list yet: then neither counts as ready
        const settled = now.join() === files.join() && !wereReplaced(processes)
        if (settled || repeats === MAX_REPEATS) return { processes, reasons: reasonsOf(processes, expected) }
        files = now
      }
    }
  }
}

/**
 * The successor answered before it was ready, and the old process after that: neither counts as ready, although one of
 * them was all the time.
 * @param {ProcessStatus[]} processes
 */
function wereReplaced (processes) {
  const inState = (/** @type {string} */ state) =>
    new Set(processes.filter(({ notReady }) => notReady.includes(state)).map(({ name }) => name))
  const starting = inState('starting')
  return [...inState('stopping')].some((name) => starting.has(name))
}

/**
 * A process that is being replaced does not count as missing if its role has enough ready ones.
 * @param {ProcessStatus[]} processes
 * @param {Record<string, number>} expected
 */
function reasonsOf (processes, expected) {
  return Object.entries(expected).flatMap(([role, count]) => {
    const all = processes.filter(({ name }) => name.replace(/-\d+$/, '') === role)
    const ready = all.filter(({ notReady }) => notReady.length === 0).length
    if (ready >= count) return []
    return [
      `${role}: ${ready} of ${count} ready`,
      ...all.flatMap(({ name, notReady }) => notReady.map((reason) => `${name}: ${reason}`))
    ]
  })
}
