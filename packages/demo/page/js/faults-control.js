/**
 * Requests to the control of the demo (`/control/`), and its state while something happens. Nothing is requested while
 * nothing happens.
 *
 * @typedef {object} ControlState
 * @property {('kill' | 'reload' | 'freeze' | 'cut')[]} kinds of faults that can be made here
 * @property {'embedded' | 'no_launcher' | 'elsewhere'} [reason] why there are none
 * @property {string} [store] the name of what they freeze
 * @property {Fault | null} fault
 * @property {Pulse | null} pulse
 * @property {Crowd | null} crowd
 *
 * @typedef {import('./faults-tally.js').Published & { problem: string | null, document: string | null }} Pulse
 *
 * @typedef {object} Fault
 * @property {number} number
 * @property {'kill' | 'reload' | 'freeze' | 'cut'} kind
 * @property {'before' | 'broken' | 'mended' | 'ended'} phase
 * @property {number} [ms]
 * @property {number} [readyMs]
 * @property {{ name: string, worker?: number, pid?: number, connections: number }} [worker]
 * @property {number} clients
 * @property {number} back
 * @property {string | null} problem
 *
 * @typedef {object} Crowd
 * @property {boolean} running
 * @property {number} guests
 * @property {number} connected
 * @property {number} perSecond
 * @property {number} deliveries
 * @property {number} lost
 * @property {number} reconnects
 * @property {number} left s
 * @property {string} document
 */

/** Interval of looks at the state, ms. */
const EVERY = 400

/**
 * @param {object} dependencies
 * @param {(state: ControlState) => void} dependencies.onState
 * @param {() => boolean} dependencies.isBusy whether to go on looking
 */
export function createControl ({ onState, isBusy }) {
  let timer = 0

  /**
   * @param {string} method
   * @param {string} path
   * @param {object} [body]
   * @returns {Promise<ControlState>} rejects with an Error for people
   */
  async function request (method, path, body) {
    const answer = await fetch(`/control${path}`, {
      method,
      ...(method === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) })
    })
    const value = await answer.json()
    if (!answer.ok) throw new Error(value.error?.message ?? `the gateway answered ${answer.status}`)
    return value
  }

  function watch () {
    if (timer !== 0) return
    timer = setTimeout(async () => {
      // the worker that this page asked may have been killed: the next one answers
      const state = await request('GET', '/state').catch(() => null)
      timer = 0
      if (state !== null) onState(state)
      if (state === null || isBusy()) watch()
    }, EVERY)
  }

  return {
    watch,
    /** @returns {Promise<ControlState>} */
    look: () => request('GET', '/state'),
    /** @param {string} method @param {string} path @param {object} [body] */
    async tell (method, path, body) {
      const state = await request(method, path, body)
      onState(state)
      watch()
    }
  }
}
