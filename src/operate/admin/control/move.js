import { InkcastError } from '../../../base/common/errors.js'
import { readMove } from '../../../gateway/leaving/moves.js'
import { readBody } from '../answers.js'
import { askEach, askProcesses, processesIn } from '../ask-processes.js'

/**
 * Moves a part of this machine's clients, or of one of its workers', to where balancers send them next.
 *
 * @typedef {object} MoveControl
 * @property {() => Promise<Record<string, number>>} read connections that still have to move, by process
 * @property {(move: import('../../../gateway/leaving/moves.js').Move, name?: string) => Promise<Record<string,
 *   number>>}
 *   begin moves clients of all gateway workers, or of the one with this name; returns their numbers by process
 * @property {() => Promise<Record<string, number>>} stop ends the moves in progress
 */

/** Timeout of a process's answer, ms. */
const TIMEOUT = 2000
/** Names of processes with clients. */
const WITH_CLIENTS = /^(?:gateway|embedded)-\d+$/
/** Time for the last clients that were moved to connect elsewhere, s. */
const LATE = 5

/**
 * @param {object} options
 * @param {string} options.directory with the private listeners of the processes
 * @param {(name: string, seconds: number) => void} [options.onBegin] called before the clients of one worker begin to
 *   move, and again when it is known how long that takes: for this time others should accept its new connections
 * @returns {MoveControl}
 */
export function createMoveControl ({ directory, onBegin = () => {} }) {
  const all = async () => (await processesIn(directory)).filter(({ name }) => WITH_CLIENTS.test(name))

  /**
   * @param {import('../ask-processes.js').Listening[]} processes
   * @param {string} method
   * @returns {Promise<Record<string, number>>} connections that still have to move, by process
   */
  async function ask (processes, method) {
    const answers = await askEach(processes, '/move', { timeout: TIMEOUT, method })
    return Object.fromEntries(answers.map(({ name, answer }) => [name, Number(answer.left)]))
  }

  /**
   * Begins in all processes or, if one of them does not answer before, in none: another try would move a share of the
   * clients that are left, and so too many.
   *
   * @param {import('../ask-processes.js').Listening[]} processes
   * @param {import('../../../gateway/leaving/moves.js').Move} move
   * @returns {Promise<Record<string, number>>} by process
   */
  async function beginIn (processes, move) {
    await ask(processes, 'GET')
    const answers = await askProcesses(processes, '/move', { timeout: TIMEOUT, method: 'POST', body: move })
    const silent = answers.find(({ error }) => error !== undefined)
    if (silent !== undefined)
      throw new InkcastError('timeout', `${silent.name} did not answer; moves may have begun: see GET /move`)
    return Object.fromEntries(answers.map(({ name, answer }) => [name, Number(answer.connections)]))
  }

  return {
    read: async () => ask(await all(), 'GET'),
    stop: async () => ask(await all(), 'DELETE'),
    async begin ({ share, rate }, wanted) {
      const processes = (await all()).filter(({ name }) => wanted === undefined || name === wanted)
      if (processes.length === 0)
        throw new InkcastError('not_found', wanted === undefined ? 'no worker runs' : `there is no worker ${wanted}`)
      // before the first client leaves, however late this process reads the answer
      if (wanted !== undefined) onBegin(wanted, LATE)
      const moving = await beginIn(processes, { share, rate: rate / processes.length })
      if (wanted !== undefined) onBegin(wanted, (moving[wanted] ?? 0) / rate + LATE)
      return moving
    }
  }
}

/**
 * `POST /move` with `{ "share": 0.5, "rate": 100, "process": "gateway-0" }`, `GET /move` and `DELETE /move`.
 * @param {MoveControl} move
 */
export const moveMethods = (move) => ({
  GET: async () => ({ left: await move.read() }),
  async POST (/** @type {import('node:http').IncomingMessage} */ req) {
    const { process, ...body } = await readBody(req)
    if (process !== undefined && typeof process !== 'string')
      throw new InkcastError('bad_request', 'process must be a name, as gateway-0')
    return { ok: true, moving: await move.begin(readMove(body), process) }
  },
  DELETE: async () => ({ ok: true, left: await move.stop() })
})
