import { createHmac, hkdfSync } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

/**
 * The key that encrypts session tickets: the same one in all workers, so that a client that reconnects to another
 * worker resumes its TLS session instead of a full handshake, and another one every 12 hours.
 *
 * Each key follows from a state of its period. Without a secret the state is random, lies in the run directory (only
 * this user can read it) and is replaced by its hash at each rotation: the keys of earlier periods cannot be computed
 * from it. All processes compute the same states, so they need not tell each other.
 *
 * @typedef {object} TicketKeys
 * @property {() => Promise<void>} start
 * @property {() => void} stop
 * @property {() => Buffer} current 48 bytes, for `setTicketKeys`
 * @property {(listener: (keys: Buffer) => void) => void} onRotated
 *
 * @typedef {object} State
 * @property {number} period number since 1970
 * @property {Buffer} bytes
 */

/** ms */
const PERIOD = 12 * 3600_000
/** In the run directory. */
export const TICKET_FILE = 'tickets'
/** Between two comparisons with the clock, which may be set, ms. */
const LOOK = 1000
const STATE_BYTES = 32

/** @typedef {Pick<import('../../base/common/random.js').Random, 'bytes'>} Bytes */

/**
 * @param {object} options
 * @param {string} [options.secret] shared by several machines; keys of all periods follow from it
 * @param {string} [options.directory] that processes of this machine share; default: the keys are of this process only
 * @param {Pick<import('../../base/common/clock.js').Clock, 'now' | 'every'>} options.clock
 * @param {Bytes} options.random
 * @param {number} [options.look] interval of the comparison with the clock, ms
 * @returns {TicketKeys}
 */
export function createTicketKeys ({ secret, directory, clock, random, look = LOOK }) {
  const now = () => Math.floor(clock.now() / PERIOD)
  /** @type {((keys: Buffer) => void)[]} */
  const listeners = []
  /** @type {import('../../base/common/clock.js').Timer | undefined} */
  let timer
  /** @type {State} */
  let state = { period: now(), bytes: random.bytes(STATE_BYTES) }

  function rotate () {
    const period = now()
    // a clock that goes back: earlier states are lost, on purpose
    if (secret === undefined ? period <= state.period : period === state.period) return
    state = secret === undefined ? forward(state, period) : { period, bytes: bytesOf(secret, period) }
    for (const tell of listeners) tell(keysOf(state))
    // for processes that start later; they compute it from an older state as well
    if (secret === undefined && directory !== undefined) write(directory, state, random).catch(() => {})
  }

  return {
    async start () {
      if (secret !== undefined) state = { period: now(), bytes: bytesOf(secret, now()) }
      else if (directory !== undefined) state = forward(await shared(directory, state, random), now())
      timer = clock.every(look, rotate).unref()
    },
    stop () { timer?.stop() },
    current: () => keysOf(state),
    onRotated (listener) { listeners.push(listener) }
  }
}

/** @param {string} secret @param {number} period */
const bytesOf = (secret, period) => createHmac('sha256', secret).update(`inkcast tickets ${period}`).digest()

/** @param {State} state @returns {Buffer} */
const keysOf = ({ bytes }) => Buffer.from(hkdfSync('sha256', bytes, '', 'inkcast ticket keys', 48))

/** @param {State} state @param {number} period @returns {State} of that period, or of a later one that it is from */
function forward ({ period: from, bytes }, period) {
  let at = from
  for (; at < period; at++) bytes = createHmac('sha256', bytes).update('next').digest()
  return { period: at, bytes }
}

/**
 * The state that the first process wrote.
 * @param {string} directory
 * @param {State} own written if there is none
 * @param {Bytes} random
 * @returns {Promise<State>}
 */
async function shared (directory, own, random) {
  const name = temporary(directory, random)
  await writeFile(name, textOf(own), { mode: 0o600 })
  try {
    // unlike a rename this never replaces the state of another process
    await link(name, path.join(directory, TICKET_FILE))
    return own
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
    const found = stateIn(await readFile(path.join(directory, TICKET_FILE), 'utf8'))
    if (found !== undefined) return found
    await rename(name, path.join(directory, TICKET_FILE))
    return own
  } finally {
    await rm(name, { force: true })
  }
}

/** @param {string} directory @param {State} state @param {Bytes} random */
async function write (directory, state, random) {
  const name = temporary(directory, random)
  await writeFile(name, textOf(state), { mode: 0o600 })
  await rename(name, path.join(directory, TICKET_FILE))
}

/** @param {string} directory @param {Bytes} random */
const temporary = (directory, random) => path.join(directory, `${TICKET_FILE}.${random.bytes(8).toString('hex')}`)

/** @param {State} state */
const textOf = ({ period, bytes }) => `${period} ${bytes.toString('base64')}\n`

/** @param {string} text @returns {State | undefined} */
function stateIn (text) {
  const [, period, base64] = /^(\d{1,9}) ([\w+/]{43}=)\n$/.exec(text) ?? []
  return base64 === undefined ? undefined : { period: Number(period), bytes: Buffer.from(base64, 'base64') }
}
