/**
 * The control of the demo in one process, its buttons on pages that other processes serve: a gateway worker passes
 * their requests on to the launcher, over a unix socket in the run directory.
 *
 * @typedef {object} Answer
 * @property {number} status of HTTP
 * @property {object} body
 *
 * @typedef {{ method: string, path: string, body?: object }} Question path: below /control, as `/state`
 * @typedef {(question: Question) => Promise<Answer>} Ask never rejects
 */

/** Path on the launcher's private listener. */
export const CONTROL_PATH = '/control'
/** Timeout of the launcher's answer, ms. */
const TIMEOUT = 5000

/**
 * @param {Pick<import('../index.js').Inkcast, 'InkcastError' | 'publicError'>} inkcast
 * @param {unknown} error
 * @returns {Answer}
 */
export const failed = ({ InkcastError, publicError }, error) => ({
  status: error instanceof InkcastError ? error.status : 500,
  body: { ok: false, error: publicError(error) }
})

/**
 * The state where there is nothing to press.
 * @param {'no_launcher' | 'elsewhere'} reason
 * @returns {Answer}
 */
export const nothingHere = (reason) =>
  ({ status: 200, body: { ok: true, kinds: [], reason, fault: null, pulse: null, crowd: null } })

/**
 * The control in the launcher, for a gateway worker.
 * @param {import('../index.js').Inkcast} inkcast
 * @param {import('../../../src/config/load.js').LauncherContext} launcher
 * @returns {Ask}
 */
export const launcherControl = (inkcast, { runDirectory, relaysHandles }) => async (question) => {
  const { InkcastError, askPrivately, demoSocket } = inkcast
  if (runDirectory === undefined || !relaysHandles) {
    if (question.path !== '/state') return failed(inkcast, new InkcastError('not_found', 'there is no launcher'))
    return nothingHere('no_launcher')
  }
  try {
    return await askPrivately(demoSocket(runDirectory), CONTROL_PATH, {
      method: 'POST', body: JSON.stringify(question), timeout: TIMEOUT
    })
  } catch {
    return failed(inkcast, new InkcastError('unavailable', 'the launcher did not answer: try again'))
  }
}

/**
 * The route of the launcher's private listener.
 * @param {import('../index.js').Inkcast} inkcast
 * @param {Ask} ask
 * @returns {import('node:http').RequestListener}
 */
export const createControlRoute = (inkcast, ask) => (req, res) => {
  inkcast.readBody(req)
    .then((question) => ask(/** @type {any} */ (question)), (error) => failed(inkcast, error))
    .then((answer) => inkcast.answerJson(res, 200, answer))
    .catch(() => res.destroy())
}
