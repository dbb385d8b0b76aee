import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { InkcastError } from '../../common/errors.js'
import { answerJson, readBody } from '../answers.js'
import { askPrivately } from '../private-listener.js'

/**
 * A cordoned machine gets no new clients: `/ready` and `/health` answer 503 and the load agent `drain`, so balancers
 * send none. Connected clients stay, and a client that connects anyway is served. Before a machine is stopped,
 * this gives balancers time to notice.
 *
 * @typedef {object} Cordon
 * @property {() => Promise<boolean>} read whether a process of this machine is cordoned
 * @property {(cordoned: boolean) => Promise<string[]>} set returns the names of the processes that have it
 */

/** Timeout of a process's answer, ms. */
const TIMEOUT = 800

/**
 * @param {object} options
 * @param {string} options.directory with the private listeners of the processes
 * @param {(cordoned: boolean) => void} [options.onChange] called before the processes are asked
 * @returns {Cordon}
 */
export function createCordon ({ directory, onChange = () => {} }) {
  /**
   * @param {boolean} [cordoned] undefined: only read
   * @returns {Promise<{ name: string, cordoned: boolean }[]>}
   */
  async function ask (cordoned) {
    const files = (await readdir(directory)).filter((file) => file.endsWith('.sock')).sort()
    const answers = await Promise.all(files.map(async (file) => {
      try {
        const answer = await askPrivately(path.join(directory, file), '/cordon', {
          timeout: TIMEOUT,
          ...(cordoned === undefined ? {} : { method: 'PUT', body: JSON.stringify({ cordoned }) })
        })
        return { name: file.split('.', 1)[0], cordoned: answer.cordoned === true }
      } catch (error) {
        const { code } = /** @type {NodeJS.ErrnoException} */ (error)
        // a process that has ended, or does not listen yet
        if (code === 'ECONNREFUSED' || code === 'ENOENT') return null
        throw new InkcastError('unavailable', `${file.split('.', 1)[0]} did not answer: try again`)
      }
    }))
    return answers.filter((answer) => answer !== null)
  }

  return {
    read: async () => (await ask()).some(({ cordoned }) => cordoned),
    async set (cordoned) {
      onChange(cordoned)
      return (await ask(cordoned)).map(({ name }) => name)
    }
  }
}

/**
 * `GET /cordon`, and `PUT /cordon` with `{ "cordoned": true }`.
 *
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 * @param {object} dependencies
 * @param {Cordon} dependencies.cordon
 * @param {ReturnType<typeof import('../access.js').createAdminAccess>} dependencies.checkRight
 */
export async function answerCordon (req, res, { cordon, checkRight }) {
  if (req.method === 'GET' || req.method === 'HEAD') {
    checkRight(req, 'read')
    answerJson(res, 200, { cordoned: await cordon.read() })
  } else if (req.method === 'PUT') {
    checkRight(req, 'control')
    const { cordoned } = await readBody(req)
    if (typeof cordoned !== 'boolean') throw new InkcastError('bad_request', 'cordoned must be true or false')
    answerJson(res, 200, { ok: true, cordoned, processes: await cordon.set(cordoned) })
  } else {
    res.setHeader('allow', 'GET, HEAD, PUT')
    throw new InkcastError('method_not_allowed')
  }
}
