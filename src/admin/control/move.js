import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { InkcastError } from '../../common/errors.js'
import { readMove } from '../../gateway/leaving/moves.js'
import { answerJson, readBody } from '../answers.js'
import { askPrivately } from '../private-listener.js'

/**
 * Moves a part of this machine's clients, or of one of its workers', to where balancers send them next.
 *
 * @typedef {object} MoveControl
 * @property {() => Promise<Record<string, number>>} read connections that still have to move, by process
 * @property {(move: import('../../gateway/leaving/moves.js').Move, name?: string) => Promise<Record<string, number>>}
 *   begin moves clients of all gateway workers, or of the one with this name; returns their numbers by process
 * @property {() => Promise<Record<string, number>>} stop ends the moves in progress
 */

/** Timeout of a process's answer, ms. */
const TIMEOUT = 2000
/** Names of processes with clients. */
const WITH_CLIENTS = /^((?:gateway|embedded)-\d+)\.?.*\.sock$/
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
  /** @returns {Promise<{ name: string, file: string }[]>} */
  const all = async () => (await readdir(directory)).sort().flatMap((file) => {
    const [, name] = WITH_CLIENTS.exec(file) ?? []
    return name === undefined ? [] : [{ name, file: path.join(directory, file) }]
  })

  /**
   * @param {{ name: string, file: string }[]} processes
   * @param {string} method
   * @param {object} [body]
   * @returns {Promise<[name: string, answer: any][]>}
   */
  async function ask (processes, method, body) {
    const answers = await Promise.all(processes.map(async ({ name, file }) => {
      try {
        const answer = await askPrivately(file, '/move', {
          method, timeout: TIMEOUT, ...(body === undefined ? {} : { body: JSON.stringify(body) })
        })
        return /** @type {[string, any]} */ ([name, answer])
      } catch (error) {
        const { code } = /** @type {NodeJS.ErrnoException} */ (error)
        // a process that has ended, or does not listen yet
        if (code === 'ECONNREFUSED' || code === 'ENOENT') return null
        throw new InkcastError('unavailable', `${name} did not answer: try again`)
      }
    }))
    return answers.filter((answer) => answer !== null)
  }

  /** @param {[name: string, answer: any][]} answers @param {'left' | 'connections'} field */
  const numbers = (answers, field) =>
    Object.fromEntries(answers.map(([name, answer]) => [name, Number(answer[field])]))

  return {
    read: async () => numbers(await ask(await all(), 'GET'), 'left'),
    stop: async () => numbers(await ask(await all(), 'DELETE'), 'left'),
    async begin ({ share, rate }, wanted) {
      const processes = (await all()).filter(({ name }) => wanted === undefined || name === wanted)
      if (processes.length === 0)
        throw new InkcastError('not_found', wanted === undefined ? 'no worker runs' : `there is no worker ${wanted}`)
      // before the first client leaves, however late this process reads the answer
      if (wanted !== undefined) onBegin(wanted, LATE)
      const moving = numbers(await ask(processes, 'POST', { share, rate: rate / processes.length }), 'connections')
      if (wanted !== undefined) onBegin(wanted, (moving[wanted] ?? 0) / rate + LATE)
      return moving
    }
  }
}

/**
 * `POST /move` with `{ "share": 0.5, "rate": 100, "process": "gateway-0" }`, `GET /move` and `DELETE /move`.
 *
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 * @param {object} dependencies
 * @param {MoveControl} dependencies.move
 * @param {ReturnType<typeof import('../access.js').createAdminAccess>} dependencies.checkRight
 */
export async function answerMove (req, res, { move, checkRight }) {
  if (req.method === 'GET' || req.method === 'HEAD') {
    checkRight(req, 'read')
    answerJson(res, 200, { left: await move.read() })
  } else if (req.method === 'POST') {
    checkRight(req, 'control')
    const { process, ...body } = await readBody(req)
    if (process !== undefined && typeof process !== 'string')
      throw new InkcastError('bad_request', 'process must be a name, as gateway-0')
    answerJson(res, 200, { ok: true, moving: await move.begin(readMove(body), process) })
  } else if (req.method === 'DELETE') {
    checkRight(req, 'control')
    answerJson(res, 200, { ok: true, left: await move.stop() })
  } else {
    res.setHeader('allow', 'GET, HEAD, POST, DELETE')
    throw new InkcastError('method_not_allowed')
  }
}
