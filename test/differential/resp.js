/**
 * The messages of a reply's bytes, of either version of the protocol, as plain data to compare.
 *
 * @typedef {{ type: string, text: string } | { type: string, items: Message[] }} Message type: the first byte
 */

/** @param {string[]} args byte strings @returns {string} */
export function request (args) {
  let text = `*${args.length}\r\n`
  for (const arg of args) text += `$${arg.length}\r\n${arg}\r\n`
  return text
}

/**
 * @param {string} bytes
 * @returns {Message[]}
 * @throws {Error} for bytes that are no complete messages
 */
export function parseMessages (bytes) {
  let at = 0
  /** @returns {Message} */
  function message () {
    const end = bytes.indexOf('\r\n', at)
    if (end < 0) throw new Error(`not a message: ${JSON.stringify(bytes.slice(at, at + 100))}`)
    const type = bytes[at]
    const line = bytes.slice(at + 1, end)
    at = end + 2
    if ('+-:_,#('.includes(type)) return { type, text: line }
    if (!'$=*~>%'.includes(type)) throw new Error(`unknown type of a message: ${JSON.stringify(type + line)}`)
    const length = Number(line)
    if (length < 0) return { type: `${type}-`, text: '' }
    if (type === '$' || type === '=') {
      const text = bytes.slice(at, at + length)
      at += length + 2
      if (text.length < length || at > bytes.length) throw new Error('an incomplete message')
      return { type, text }
    }
    return { type, items: Array.from({ length: type === '%' ? 2 * length : length }, message) }
  }
  const messages = []
  while (at < bytes.length) messages.push(message())
  return messages
}

/** @param {Message} message @returns {string} for people, and to compare */
export function show (message) {
  if (!('items' in message)) return message.type === '$' ? JSON.stringify(message.text) : message.type + message.text
  return `${message.type}[${message.items.map(show).join(', ')}]`
}

/**
 * A time beyond 2^53 ms, of which a lifetime in seconds is a thousandth, is not exact in the store.
 * @param {Message} reply
 */
export const lifetime = (reply) => 'text' in reply && Number(reply.text) > FAR ? 'far' : show(reply)
const FAR = 9e12

/** @template T @param {T[]} list @param {number} size @returns {T[][]} */
export const chunks = (list, size) =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(size * i, size * (i + 1)))
