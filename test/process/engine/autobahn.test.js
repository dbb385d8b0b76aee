import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, describe, test } from 'node:test'
import { systemClock } from '../../../src/base/common/clock.js'
import { EngineSocket } from '../../../src/transport/engine/engine-socket.js'
import { createClosing } from '../../../src/transport/engine/socket-reader.js'
import { frameFor } from '../../../src/wire/packet.js'
import { waitFor } from '../../helpers/wait.js'

/**
 * The server cases of the Autobahn test suite (groups 1 to 7, 9 and 10) in strict mode, against an EngineSocket that
 * echoes.
 */

const MAX_BYTES = 4 * 2 ** 20
const [CONT, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10]

class Echo extends EngineSocket {
  /** @override @param {string | Buffer} message */
  onMessage (message) {
    const bytes = Buffer.from(message)
    const { frame, at } = frameFor(typeof message === 'string' ? 0x81 : 0x82, bytes.length)
    bytes.copy(frame, at)
    this.writeNow(frame)
  }
}

const engine = {
  maxBytes: MAX_BYTES,
  ended () {},
  onFrames () {},
  inputLimits: { holds () {} },
  clock: systemClock,
  closing: createClosing(systemClock)
}
const server = net.createServer(
  (socket) =>
    new Echo(
      'id',
      /** @type {any} */ (engine),
      /** @type {any} */ (null),
      socket
    )
)
await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(undefined)) })
after(() => server.close())
const { port } = /** @type {net.AddressInfo} */ (server.address())

/**
 * A client's frame.
 * @param {number} opcode
 * @param {string | Buffer} [payload]
 * @param {{ fin?: boolean, rsv?: number, mask?: number[] }} [more]
 */
function frame (opcode, payload = '', { fin = true, rsv = 0, mask = [0x37, 0xfa, 0x21, 0x3d] } = {}) {
  const bytes = Buffer.from(payload)
  const { length } = bytes
  const head =
    length < 126
      ? Buffer.from([0, 0x80 | length])
      : length < 65_536
        ? Buffer.from([0, 0xfe, length >> 8, length & 255])
        : Buffer.alloc(10)
  if (length >= 65_536) head.writeBigUInt64BE(BigInt(length), 2)
  if (length >= 65_536) head[1] = 0xff
  head[0] = (fin ? 0x80 : 0) | rsv << 4 | opcode
  return Buffer.concat([head, Buffer.from(mask), bytes.map((byte, i) => byte ^ mask[i & 3])])
}

/** @param {string | Buffer} payload @param {number} size of each @param {number} [opcode] */
function fragments (payload, size, opcode = TEXT) {
  const bytes = Buffer.from(payload)
  const count = Math.max(1, Math.ceil(bytes.length / size))
  return Array.from({ length: count }, (_, i) =>
    frame(i === 0 ? opcode : CONT, bytes.subarray(i * size, (i + 1) * size), { fin: i === count - 1 })
  )
}

/** @param {number} code @param {string | Buffer} [reason] */
const close = (code, reason = '') =>
  frame(CLOSE, Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]))
/** Splits bytes into single-byte chunks. @param {Buffer} bytes */
const octets = (bytes) => Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))

/**
 * The server's frames as read by the client: [opcode, payload], with the code as payload of a close frame.
 * @param {Buffer} bytes
 */
function readFrames (bytes) {
  /** @type {unknown[][]} */
  const read = []
  for (let at = 0; at + 2 <= bytes.length;) {
    const short = bytes[at + 1]
    const [head, length] =
      short < 126
        ? [2, short]
        : short === 126
          ? [4, bytes.readUInt16BE(at + 2)]
          : [10, Number(bytes.readBigUInt64BE(at + 2))]
    if (at + head + length > bytes.length) break
    const opcode = bytes[at] & 15
    const payload = bytes.subarray(at + head, at + head + length)
    read.push([
      opcode,
      opcode === CLOSE
        ? length === 0
          ? null
          : payload.readUInt16BE(0)
        : opcode === TEXT
          ? payload.toString()
          : payload.toString('hex')
    ])
    at += head + length
  }
  return read
}

/**
 * Moves pongs to the front: they are sent once everything that arrived with the pings is processed, which depends on
 * the network.
 * @param {unknown[][]} frames
 */
const pongsFirst = (frames) => [
  ...frames.filter(([opcode]) => opcode === PONG),
  ...frames.filter(([opcode]) => opcode !== PONG)
]

/**
 * Sends chunks one by one, and compares the responses. Failures must occur at once: no more is sent afterwards.
 * @param {Buffer[]} chunks
 * @param {unknown[][]} expected
 */
async function converse (chunks, expected) {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  /** @type {Buffer[]} */
  const received = []
  socket.on('data', (chunk) => received.push(chunk))
  try {
    for (const chunk of chunks) {
      socket.write(chunk)
      if (chunks.length > 1) await new Promise((resolve) => setImmediate(resolve))
    }
    await waitFor(() => readFrames(Buffer.concat(received)).length >= expected.length, {
      message: () => [readFrames(Buffer.concat(received)), expected]
    })
    assert.deepEqual(pongsFirst(readFrames(Buffer.concat(received))), pongsFirst(expected))
  } finally {
    socket.destroy()
  }
}

const hex = (/** @type {string} */ digits) => Buffer.from(digits.replaceAll(' ', ''), 'hex')
const echoed = (/** @type {string} */ text) => [[TEXT, text], [CLOSE, 1000]]
const fails = (/** @type {number} */ code) => [[CLOSE, code]]
const bye = close(1000)
const star = (/** @type {number} */ length) => '*'.repeat(length)
const pong = (/** @type {string | Buffer} */ payload) => [PONG, Buffer.from(payload).toString('hex')]

/** Valid texts of 6.1 to 6.23, and the noncharacters of 6.22. */
const VALID = [
  '',
  'Hello-µ@ßöäüàá-UTF-8!!',
  'κόσμε',
  '\u0000',
  '\u0080',
  'ࠀ',
  '𐀀',
  '\u007f',
  '\u07ff',
  '\uffff',
  '\u{10ffff}',
  '\ud7ff',
  '\ue000',
  '\ufffd',
  '\ufffe',
  '\u{1fffe}',
  '\u{fffff}'
]
/** A valid start and an invalid end: 6.3 to 6.21. */
const INVALID = [
  'cebae1bdb9cf83cebcceb5 eda080',
  'f8 88808080',
  'fc 8480808080',
  'f4 90',
  'f8',
  '80',
  'bf',
  '8080',
  'c0af',
  'c1bf',
  'e0 80',
  'e0 9f',
  'f0 80',
  'f0 8f',
  'ed a0',
  'ed bf',
  'fe',
  'ff',
  'c2 20',
  'e1 80 20',
  'f1 8080 c0',
  'ce ce'
]
/** Only the beginning of a character: 6.3, 6.5 to 6.19. */
const CUT = ['ce', 'e1bd', 'f09f98', 'ceba e1']

/** @type {Record<string, [Buffer[], unknown[][]][]>} */
const GROUPS = {
  '1 messages of every length': [0, 125, 126, 127, 128, 65_535, 65_536].flatMap(
    (length) =>
      /** @type {[Buffer[], unknown[][]][]} */ ([
        [[frame(TEXT, star(length)), bye], echoed(star(length))],
        [
          [frame(BINARY, Buffer.alloc(length, 0xfe)), bye],
          [
            [BINARY, 'fe'.repeat(length)],
            [CLOSE, 1000]
          ]
        ],
        // 1.1.8: in chops of 997 octets
        [
          [
            ...Array.from({ length: Math.ceil((length + 14) / 997) }, (_, i) =>
              frame(TEXT, star(length)).subarray(i * 997, (i + 1) * 997)
            ),
            bye
          ],
          echoed(star(length))
        ]
      ])
  ),
  '2 pings and pongs': [
    [
      [frame(PING), bye],
      [pong(''), [CLOSE, 1000]]
    ],
    [
      [frame(PING, 'Hello'), bye],
      [pong('Hello'), [CLOSE, 1000]]
    ],
    [
      [frame(PING, hex('00fffefdfcfb00ff')), bye],
      [pong(hex('00fffefdfcfb00ff')), [CLOSE, 1000]]
    ],
    [
      [frame(PING, Buffer.alloc(125, 0xfe)), bye],
      [pong(Buffer.alloc(125, 0xfe)), [CLOSE, 1000]]
    ],
    [[frame(PING, Buffer.alloc(126, 0xfe))], fails(1002)],
    [
      [...octets(frame(PING, Buffer.alloc(125, 0xfe))), bye],
      [pong(Buffer.alloc(125, 0xfe)), [CLOSE, 1000]]
    ],
    [
      [...Array.from({ length: 10 }, (_, i) => frame(PING, `payload-${i}`)), bye],
      [...Array.from({ length: 10 }, (_, i) => pong(`payload-${i}`)), [CLOSE, 1000]]
    ],
    [
      [Buffer.concat([...Array.from({ length: 10 }, (_, i) => frame(PING, `payload-${i}`)), bye])],
      [...Array.from({ length: 10 }, (_, i) => pong(`payload-${i}`)), [CLOSE, 1000]]
    ],
    [
      [frame(PONG), frame(PONG, 'unsolicited'), frame(PING, 'p'), bye],
      [pong('p'), [CLOSE, 1000]]
    ]
  ],
  '3 reserved bits': [1, 2, 3, 4, 5, 6, 7].flatMap(
    (rsv) =>
      /** @type {[Buffer[], unknown[][]][]} */ ([
        [[frame(TEXT, 'Hello', { rsv })], fails(1002)],
        [
          [frame(TEXT, 'before'), frame(PING, '', { rsv })],
          [
            [TEXT, 'before'],
            [CLOSE, 1002]
          ]
        ],
        [
          octets(frame(TEXT, 'before')).concat(frame(CLOSE, '', { rsv })),
          [
            [TEXT, 'before'],
            [CLOSE, 1002]
          ]
        ]
      ])
  ),
  '4 reserved opcodes': [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode) => [
    [frame(TEXT, 'before'), frame(opcode, opcode % 2 ? 'x' : '')],
    [
      [TEXT, 'before'],
      [CLOSE, 1002]
    ]
  ]),
  '5 fragments': [
    [[frame(PING, 'fragment1', { fin: false })], fails(1002)],
    [[frame(PONG, 'fragment1', { fin: false })], fails(1002)],
    [[...fragments('fragment1fragment2', 9), bye], echoed('fragment1fragment2')],
    [[Buffer.concat(fragments('fragment1fragment2', 9)), bye], echoed('fragment1fragment2')],
    [[...fragments('fragment1fragment2', 9).flatMap(octets), bye], echoed('fragment1fragment2')],
    [
      [frame(TEXT, 'fragment1', { fin: false }), frame(PING, 'between'), frame(CONT, 'fragment2'), bye],
      [pong('between'), [TEXT, 'fragment1fragment2'], [CLOSE, 1000]]
    ],
    [
      [
        ...[frame(TEXT, 'fragment1', { fin: false }), frame(PING, 'between'), frame(CONT, 'fragment2')].flatMap(octets),
        bye
      ],
      [pong('between'), [TEXT, 'fragment1fragment2'], [CLOSE, 1000]]
    ],
    [[frame(CONT, 'nothing to continue')], fails(1002)],
    [[frame(CONT, 'nothing to continue', { fin: false })], fails(1002)],
    [[frame(TEXT, 'fragment1', { fin: false }), frame(TEXT, 'fragment2')], fails(1002)],
    [
      [...fragments('fragment1fragment2', 9), frame(CONT, 'late')],
      [
        [TEXT, 'fragment1fragment2'],
        [CLOSE, 1002]
      ]
    ],
    [
      [...fragments(Buffer.from('ab'), 1, BINARY), bye],
      [
        [BINARY, '6162'],
        [CLOSE, 1000]
      ]
    ]
  ],
  '6 valid UTF-8': VALID.flatMap(
    (text) =>
      /** @type {[Buffer[], unknown[][]][]} */ ([
        [[frame(TEXT, text), bye], echoed(text)],
        [[...fragments(text, 1), bye], echoed(text)],
        [[...octets(frame(TEXT, text)), bye], echoed(text)],
        [[...fragments(text, 2).flatMap(octets), bye], echoed(text)]
      ])
  ),
  // strict: the connection fails at the first invalid byte, without waiting for more
  '6 invalid UTF-8, which fails at once': INVALID.flatMap((digits) => {
    const bytes = hex(digits)
    const whole = Buffer.concat([bytes, Buffer.from('more that never comes')])
    return /** @type {[Buffer[], unknown[][]][]} */ ([
      [[frame(TEXT, whole)], fails(1007)],
      [[frame(TEXT, whole).subarray(0, 6 + bytes.length)], fails(1007)],
      [octets(frame(TEXT, whole).subarray(0, 6 + bytes.length)), fails(1007)],
      [[frame(TEXT, bytes, { fin: false })], fails(1007)],
      [fragments(whole, 1).slice(0, bytes.length), fails(1007)],
      [
        [frame(TEXT, 'valid ', { fin: false }), frame(PING, 'p'), frame(CONT, whole).subarray(0, 6 + bytes.length)],
        [pong('p'), [CLOSE, 1007]]
      ]
    ])
  }),
  '6 truncated UTF-8': CUT.flatMap(
    (digits) =>
      /** @type {[Buffer[], unknown[][]][]} */ ([
        [[frame(TEXT, hex(digits))], fails(1007)],
        [octets(frame(TEXT, hex(digits))), fails(1007)],
        [fragments(hex(digits), 1), fails(1007)],
        [[frame(TEXT, hex(digits), { fin: false }), frame(CONT, '')], fails(1007)]
      ])
  ),
  '7 closing': [
    [[frame(TEXT, 'Hello'), bye, frame(TEXT, 'late'), frame(PING)], echoed('Hello')],
    [[frame(TEXT, 'fragment1', { fin: false }), bye, frame(CONT, 'fragment2')], fails(1000)],
    [[frame(CLOSE)], [[CLOSE, null]]],
    [[frame(CLOSE, 'x')], fails(1002)],
    [[close(1000, 'Hello World!')], fails(1000)],
    [[close(1000, star(123))], fails(1000)],
    [[close(1000, star(124))], fails(1002)],
    [[close(1000, hex('cebae1bdb9cf83cebcceb5eda080656469746564'))], fails(1007)],
    ...[1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999].map(
      (code) => /** @type {[Buffer[], unknown[][]]} */ ([[close(code)], fails(code)])
    ),
    ...[0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65_535].map(
      (code) => /** @type {[Buffer[], unknown[][]]} */ ([[close(code)], fails(1002)])
    )
  ],
  '9 and 10 large messages': [
    [[frame(TEXT, star(MAX_BYTES)), bye], echoed(star(MAX_BYTES))],
    [
      [frame(BINARY, Buffer.alloc(2 ** 20, 1)), bye],
      [
        [BINARY, '01'.repeat(2 ** 20)],
        [CLOSE, 1000]
      ]
    ],
    [[...fragments('世'.repeat(2 ** 18), 65_536), bye], echoed('世'.repeat(2 ** 18))],
    [[Buffer.concat(fragments(star(65_536), 64)), bye], echoed(star(65_536))],
    // as documented: at most 1,024 fragments
    [[Buffer.concat(fragments(star(65_600), 64))], fails(1009)],
    [[frame(TEXT, star(MAX_BYTES + 1)).subarray(0, 14)], fails(1009)]
  ]
}

describe('a WebSocket passes the Autobahn test suite, group', () => {
  for (const [group, cases] of Object.entries(GROUPS)) {
    test(group, async () => {
      for (const [i, [chunks, expected]] of cases.entries()) {
        await converse(chunks, expected).catch((error) => {
          throw new Error(`case ${i + 1}, ${Buffer.concat(chunks).subarray(0, 40).toString('hex')}: ${error.message}`)
        })
      }
    })
  }
})
