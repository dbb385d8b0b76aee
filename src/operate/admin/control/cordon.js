import { InkcastError } from '../../../base/common/errors.js'
import { readBody } from '../answers.js'
import { askEach, processesIn } from '../ask-processes.js'

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
  /** @param {{ method: string, body: object }} [change] default: only read */
  const ask = async (change) => askEach(await processesIn(directory), '/cordon', { timeout: TIMEOUT, ...change })

  return {
    read: async () => (await ask()).some(({ answer }) => answer.cordoned === true),
    async set (cordoned) {
      onChange(cordoned)
      return (await ask({ method: 'PUT', body: { cordoned } })).map(({ name }) => name)
    }
  }
}

/** `GET /cordon`, and `PUT /cordon` with `{ "cordoned": true }`. @param {Cordon} cordon */
export const cordonMethods = (cordon) => ({
  GET: async () => ({ cordoned: await cordon.read() }),
  async PUT (/** @type {import('node:http').IncomingMessage} */ req) {
    const { cordoned } = await readBody(req)
    if (typeof cordoned !== 'boolean') throw new InkcastError('bad_request', 'cordoned must be true or false')
    return { ok: true, cordoned, processes: await cordon.set(cordoned) }
  }
})
