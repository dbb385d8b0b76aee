import { PER_TURN } from '../../transport/admission/handshake-limit.js'
import { openSandbox } from './sandbox.js'
import { createSigner, saysOf } from './clients.js'

/**
 * The code of a handshake is slow until it has run some hundred times, and a new worker gets many clients at once:
 * those of its predecessor. So the worker makes handshakes with itself before it is ready.
 * Method and gain: docs/internals/decisions/0005-handshake.md
 */

/**
 * @typedef {{ handshakes: number, time: number }} Extent number of handshakes, and their maximum duration, ms
 */

/** For the replacement of a killed worker, which must be ready within 2 s. @type {Extent} */
export const QUICK = Object.freeze({ handshakes: 1000, time: 600 })
/** More handshakes gain nothing. @type {Extent} */
export const THOROUGH = Object.freeze({ handshakes: 3000, time: 3000 })
/** Simultaneous handshakes per sandbox: above the limit, so that some are queued, as in a burst of real clients. */
const ROUND = 1.5 * PER_TURN
/** Timeout of a response, ms: after it the warm-up fails, and the start continues. */
const PATIENCE = 5000
/**
 * To be called after the worker's own gateway was created, with its hooks.
 *
 * @param {object} options
 * @param {import('../../config/load.js').Config} options.config
 * @param {Extent} options.extent
 * @param {import('./sandbox.js').CreateParts} options.createParts parts of the same kinds as the worker's, and its own
 *   functions: V8 would discard code that was compiled for others
 * @param {import('../../base/common/log.js').Log} options.log
 * @param {import('../../base/common/clock.js').Clock} options.clock
 * @param {import('../../base/common/random.js').Random} options.random
 * @returns {Promise<number>} number of handshakes made; never rejects
 */
export async function warmUp ({ config, extent, createParts, log, clock, random }) {
  /** @type {Sandbox[]} */
  const sandboxes = []
  assignIteratorResult()
  try {
    // two: with a single one V8 would specialize code for the parts of that one
    while (sandboxes.length < 2) sandboxes.push(await openSandbox(config, { clock, random }, createParts))
    return await makeHandshakes(sandboxes, extent, { clock })
  } catch (error) {
    log.debug({ err: error }, 'the worker was not warmed up')
    return 0
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.close())).catch((error) =>
      log.debug({ err: error }, 'the warm-up was not cleaned up')
    )
  }
}

/**
 * @typedef {Awaited<ReturnType<typeof openSandbox>>} Sandbox
 * @typedef {Pick<Sandbox, 'dial' | 'secret'> & Partial<Pick<Sandbox, 'kinds'>>} Used
 */

/**
 * V8 takes a property for constant until an object of its shape is assigned another value, and then discards all code
 * that relied on it. Objects that begin with `value` have the shape of an iterator's results: the first collection of
 * metrics, after the warm-up, discarded every function with a `for` … `of`, and first clients took 25 % longer.
 */
function assignIteratorResult () {
  const result = { value: 0, done: false }
  result.value = 1
  result.done = true
}

/**
 * Exported for tests: it runs in production only.
 * @param {Used[]} sandboxes used concurrently
 * @param {Extent} extent
 * @param {object} options
 * @param {import('../../base/common/clock.js').Clock} options.clock
 * @param {number} [options.patience] timeout of each response, ms
 * @returns {Promise<number>} number of handshakes made
 */
export async function makeHandshakes (sandboxes, { handshakes: most, time }, { clock, patience = PATIENCE }) {
  const end = clock.monotonic() + time
  const says = saysOf(Math.trunc(clock.now() / 1000))
  let begun = 0

  /** @param {Used} sandbox */
  async function rounds ({ dial, secret, kinds = [undefined] }) {
    const sign = createSigner(secret)
    const kindOf = (/** @type {number} */ i) => kinds[i % kinds.length]
    while (begun < most && clock.monotonic() < end) {
      const first = begun
      begun = Math.min(most, begun + ROUND)
      const sockets = Array.from({ length: begun - first }, (_, i) => dial(kindOf(first + i)).on('error', () => {}))
      try {
        // libuv accepts one connection per turn; after these turns the requests arrive together
        for (let turn = 0; turn < sockets.length; turn++) {
          await new Promise((resolve) => { clock.soon(() => resolve(undefined)) })
        }
        await Promise.all(sockets.map((socket, i) =>
          handshake(socket, says(first + i, sign, kindOf(first + i)), { clock, patience })))
      } finally {
        for (const socket of sockets) socket.destroy()
      }
    }
  }
  await Promise.all(sandboxes.map(rounds))
  return begun
}

/**
 * A minimal client, because it shares the process with the gateway: each response is short and arrives in one chunk.
 * @param {import('net').Socket} socket
 * @param {readonly import('./clients.js').Said[]} says requests in sequence, each sent after the last response
 * @param {{ clock: Pick<import('../../base/common/clock.js').Clock, 'timer'>, patience: number }} options patience: ms
 * @returns {Promise<void>} after the last response
 */
function handshake (socket, says, { clock, patience }) {
  let said = 0
  return new Promise((resolve, reject) => {
    if (socket.destroyed) return reject(new Error('the connection was lost'))
    const limit = () => clock.timer(patience, () => socket.destroy(new Error(`no answer within ${patience} ms`)))
    let late = limit()
    socket.on('data', (chunk) => {
      late.stop()
      late = limit()
      if (!chunk.includes(says[said].answer)) socket.destroy(new Error(`another answer than ${says[said].answer}`))
      else if (++said === says.length) resolve()
      else socket.write(says[said].bytes)
    })
    socket.on('error', reject)
    socket.on('close', () => {
      late.stop()
      reject(new Error('the connection was lost'))
    })
    socket.write(says[0].bytes)
  })
}
