import { setImmediate } from 'node:timers/promises'
import { createSigner } from 'fast-jwt'
import { PER_TURN } from '../admission/handshake-limit.js'
import { createAuthenticator } from '../auth/authenticator.js'
import { systemClock } from '../common/clock.js'
import { createAccess } from '../documents/access.js'
import { openSandbox } from './sandbox.js'

/**
 * The code of a handshake is slow until it has run some hundred times, and the first clients of a new worker are many:
 * those of the one before it. So it runs for nobody first, before the worker is ready.
 * How, and what it gains: docs/decisions/0005-warm-up.md
 */

/**
 * @typedef {{ handshakes: number, time: number }} Extent how many handshakes, and the longest that a start may take
 *   longer for them, ms
 */

/** A worker that was killed is to be replaced within 2 s. @type {Extent} */
export const QUICK = Object.freeze({ handshakes: 1000, time: 600 })
/** More gain nothing. @type {Extent} */
export const THOROUGH = Object.freeze({ handshakes: 3000, time: 3000 })
/** Handshakes that a sandbox is asked for at once: some of them wait, as those of real clients do in a storm. */
const ROUND = 1.5 * PER_TURN
/** No answer for so long, ms: something is wrong, and the start goes on. */
const PATIENCE = 5000
/** Documents of a sandbox, which its clients join in turn. */
const DOCUMENTS = 10
/** How long a token holds, s. */
const LIFETIME = 3600

/**
 * After the worker's own gateway was made, with the hooks.
 *
 * @param {object} options
 * @param {import('../config/load.js').Config} options.config
 * @param {Extent} options.extent
 * @param {import('./sandbox.js').CreateParts} options.createParts of the kind that the worker has
 * @param {import('../common/log.js').Log} options.log
 * @returns {Promise<number>} handshakes that were made; never rejects
 */
export async function warmUp ({ config, extent, createParts, log }) {
  const open = () => openSandbox(config, (own) => ({
    ...createParts(own),
    authenticator: createAuthenticator({ settings: { secret: own.secret }, log: own.log }),
    access: createAccess({ settings: {}, log: own.log })
  }))
  /** @type {Sandbox[]} */
  const sandboxes = []
  try {
    // with one, V8 would make code for the parts of that one only
    while (sandboxes.length < 2) sandboxes.push(await open())
    return await makeHandshakes(sandboxes, extent)
  } catch (error) {
    log.debug({ err: error }, 'the worker was not warmed up')
    return 0
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.close())).catch((error) =>
      log.debug({ err: error }, 'the warm-up was not cleaned up')
    )
  }
}

/** @typedef {Awaited<ReturnType<typeof openSandbox>>} Sandbox */

/**
 * Exported for tests: it runs in production only.
 * @param {Pick<Sandbox, 'dial' | 'secret'>[]} sandboxes side by side
 * @param {Extent} extent
 * @param {number} [patience] for each answer, ms
 * @returns {Promise<number>} handshakes that were made
 */
export async function makeHandshakes (sandboxes, { handshakes: most, time }, patience = PATIENCE) {
  const end = systemClock.monotonic() + time
  const exp = Math.trunc(systemClock.now() / 1000) + LIFETIME
  let begun = 0

  /** @param {number} i each is another user @param {(claims: Record<string, unknown>) => string} sign */
  function says (i, sign) {
    const token = sign({ ...CLAIMS[i % CLAIMS.length](exp), sub: `warm-up-${i}` })
    return [
      { bytes: UPGRADES[i % UPGRADES.length], answer: 'HTTP/1.1 101 ' },
      { bytes: frame(`40${JSON.stringify({ token })}`), answer: '40{' },
      { bytes: frame(`420${JSON.stringify(['doc:join', { guid: `warm-up-${i % DOCUMENTS}` }])}`), answer: '430[' }
    ]
  }

  /** @param {Pick<Sandbox, 'dial' | 'secret'>} sandbox */
  async function rounds ({ dial, secret }) {
    const sign = createSigner({ key: secret, algorithm: 'HS256', noTimestamp: true })
    while (begun < most && systemClock.monotonic() < end) {
      const first = begun
      begun = Math.min(most, begun + ROUND)
      const sockets = Array.from({ length: begun - first }, () => dial().on('error', () => {}))
      try {
        // libuv accepts one connection per turn; requests over connections that were accepted come together
        for (let turn = 0; turn < sockets.length; turn++) await setImmediate()
        await Promise.all(sockets.map((socket, i) => handshake(socket, says(first + i, sign), patience)))
      } finally {
        for (const socket of sockets) socket.destroy()
      }
    }
  }
  await Promise.all(sandboxes.map(rounds))
  return begun
}

/**
 * As little of a client as it takes, because it costs the same process: each answer is short and comes in one piece.
 * @param {import('net').Socket} socket
 * @param {readonly { bytes: Buffer, answer: string }[]} says one after the other, each when the one before was answered
 * @param {number} patience ms
 * @returns {Promise<void>} after the last answer
 */
function handshake (socket, says, patience) {
  let said = 0
  return new Promise((resolve, reject) => {
    if (socket.destroyed) return reject(new Error('the connection was lost'))
    socket.on('data', (chunk) => {
      if (!chunk.includes(says[said].answer)) socket.destroy(new Error(`another answer than ${says[said].answer}`))
      else if (++said === says.length) resolve()
      else socket.write(says[said].bytes)
    })
    socket.setTimeout(patience, () => socket.destroy(new Error(`no answer within ${patience} ms`)))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the connection was lost')))
    socket.write(says[0].bytes)
  })
}

/**
 * What browsers, libraries and proxies send, and what tokens claim: of more kinds than V8 makes code for one by one,
 * because what the worker's clients will send is not known.
 */
const HEADERS = [
  {
    Pragma: 'no-cache',
    'Cache-Control': 'no-cache',
    'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64)',
    Origin: 'http://127.0.0.1',
    'Accept-Encoding': 'gzip, deflate'
  },
  {
    'User-Agent': 'Mozilla/5.0 (Macintosh)',
    Accept: '*/*',
    'Accept-Language': 'en',
    Origin: 'http://127.0.0.1',
    'Sec-Fetch-Mode': 'websocket'
  },
  { 'Accept-Encoding': 'gzip', 'User-Agent': 'Python/3' },
  { 'X-Forwarded-For': '127.0.0.1', 'X-Forwarded-Proto': 'https', 'User-Agent': 'Mozilla/5.0 (Windows NT 10.0)' },
  {}
]
const UPGRADES = HEADERS.map((headers) =>
  Buffer.from(
    [
      'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1',
      ...Object.entries({
        Host: '127.0.0.1',
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        ...headers,
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ=='
      }).map(([name, value]) => `${name}: ${value}`),
      '\r\n'
    ].join('\r\n')
  )
)
/** @type {((exp: number) => Record<string, unknown>)[]} */
const CLAIMS = [
  (exp) => ({ exp }),
  (exp) => ({ iat: exp - LIFETIME, exp }),
  (exp) => ({ name: 'Somebody', iat: exp - LIFETIME, exp }),
  (exp) => ({ iss: 'somebody', aud: 'somewhere', iat: exp - LIFETIME, exp, name: 'Somebody' }),
  () => ({ name: 'Somebody' })
]

/**
 * @param {string} text ASCII, shorter than 64 KB
 * @returns {Buffer} a masked frame, as clients send them (RFC 6455, 5.2)
 */
function frame (text) {
  const mask = [1, 2, 3, 4]
  const { length } = text
  const lengths = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 255]
  return Buffer.from([0x81, ...lengths, ...mask, ...Buffer.from(text).map((byte, i) => byte ^ mask[i % 4])])
}
