/**
 * The code of a handshake is slow until it has run some hundred times, and the first clients of a new worker are many:
 * those of the one before it. So it runs for nobody first, before the worker is ready.
 * What it gains: docs/decisions/0005-warm-up.md
 */

/** @typedef {{ handshakes: number, time: number }} Extent how many handshakes, and the longest that a start may take longer for them, ms */

/** A worker that was killed is to be replaced within 2 s. @type {Extent} */
export const QUICK = Object.freeze({ handshakes: 1000, time: 600 })
/** More gain nothing. @type {Extent} */
export const THOROUGH = Object.freeze({ handshakes: 3000, time: 3000 })
/** Handshakes under way at any time: as many clients come at once. */
const LANES = 32
/** Connections are ended when there are so many, which runs that code as well, and keeps descriptors. */
const OPEN = 64

/** @typedef {Pick<Awaited<ReturnType<typeof import('./self-test-stage.js').openStage>>, 'dial' | 'secret'>} Stage */

/** @param {Stage} stage @param {Extent} extent @returns {Promise<number>} handshakes that were made */
export async function warmUp ({ dial, secret }, { handshakes: most, time }) {
  const end = performance.now() + time
  const says = [
    { bytes: Buffer.from(UPGRADE), answer: 'HTTP/1.1 101 ' },
    { bytes: frame(`40${JSON.stringify({ token: secret })}`), answer: '40{' },
    { bytes: frame(`420${JSON.stringify(['doc:join', { guid: 'warm-up' }])}`), answer: '430[' }
  ]
  /** @type {import('net').Socket[]} */
  const open = []
  let begun = 0

  async function handshakes () {
    while (begun < most && performance.now() < end) {
      begun++
      open.push(await handshake(dial(), says))
      if (open.length > OPEN) open.shift()?.destroy()
    }
  }
  try {
    await Promise.all(Array.from({ length: LANES }, handshakes))
    return begun
  } finally {
    for (const socket of open) socket.destroy()
  }
}

/**
 * As little of a client as it takes, because it costs the same process: each answer is short and comes in one piece.
 * @param {import('net').Socket} socket
 * @param {readonly { bytes: Buffer, answer: string }[]} says one after the other, each when the one before was answered
 * @returns {Promise<import('net').Socket>} after the last answer
 */
function handshake (socket, says) {
  let said = 0
  return new Promise((resolve, reject) => {
    socket.on('data', (chunk) => {
      if (!chunk.includes(says[said].answer)) socket.destroy(new Error(`another answer than ${says[said].answer}`))
      else if (++said === says.length) resolve(socket)
      else socket.write(says[said].bytes)
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the connection was lost')))
    socket.write(says[0].bytes)
  })
}

/** What browsers send, so that there is as much to read. */
const UPGRADE = `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r
Host: 127.0.0.1\r
Connection: Upgrade\r
Pragma: no-cache\r
Cache-Control: no-cache\r
User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r
Upgrade: websocket\r
Sec-WebSocket-Version: 13\r
Accept-Encoding: gzip, deflate\r
Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
\r
`

/** @param {string} text shorter than 126 bytes @returns {Buffer} a masked frame, as clients send them (RFC 6455, 5.2) */
function frame (text) {
  const mask = [1, 2, 3, 4]
  return Buffer.from([0x81, 0x80 | text.length, ...mask, ...Buffer.from(text).map((byte, i) => byte ^ mask[i % 4])])
}
