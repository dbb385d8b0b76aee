/** Characters of a message that are shown. */
const SHOWN = 100
/** Types of RESP that hold others: * > ~ % */
const ARRAYS = [0x2a, 0x3e, 0x7e, 0x25]

/**
 * @param {Buffer} bytes of a connection of Redis, HTTP or WebSocket
 * @returns {string} their beginning, for people
 */
export function preview (bytes) {
  const first = bytes[0]
  // commands and replies of Redis, HTTP
  if (ARRAYS.includes(first) && bytes.includes('\r\n$')) return readable(command(bytes))
  const frame = first >= 0x80 ? unframed(bytes) : undefined
  return readable(frame ?? text(bytes))
}

/** @param {Buffer} bytes @returns {string} of HTTP the first line and the body, else the first line */
function text (bytes) {
  const all = bytes.toString('latin1', 0, 20 * SHOWN)
  const body = all.indexOf('\r\n\r\n')
  return all.split('\r\n')[0] + (body === -1 ? '' : ` ${all.slice(body)}`)
}

/** @param {Buffer} bytes an array of RESP @returns {string} its words */
function command (bytes) {
  const words = bytes.toString('utf8', 0, 8 * SHOWN).split('\r\n')
  // the length before each word is left out
  return words.slice(1).filter((word) => !/^[$*]\d+$/.test(word)).join(' ').replace(/^(evalsha) [\da-f]{40} \d+/, '$1')
}

/** @param {Buffer} bytes a frame of WebSocket @returns {string | undefined} its text; undefined: it is none */
function unframed (bytes) {
  const opcode = bytes[0] & 0x0f
  if (opcode === 8) return 'close'
  if (opcode === 9) return 'ping'
  if (opcode === 10) return 'pong'
  if (bytes.length < 2 || (bytes[0] & 0x70) !== 0) return
  const size = bytes[1] & 0x7f
  const begin = 2 + (size === 126 ? 2 : size === 127 ? 8 : 0)
  if ((bytes[1] & 0x80) === 0) return bytes.toString('utf8', begin, begin + 4 * SHOWN)
  const text = Buffer.from(bytes.subarray(begin + 4, begin + 4 + 4 * SHOWN))
  for (let i = 0; i < text.length; i++) text[i] ^= bytes[begin + (i & 3)]
  return text.toString('utf8')
}

/** @param {string} text */
const readable = (text) => text.replaceAll(/[^\x20-\x7e]+/g, '·').slice(0, SHOWN)
