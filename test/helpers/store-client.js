import { once } from 'node:events'
import { createStore } from '../../src/redis/store/store.js'
import { systemRandom } from '../../src/base/common/random.js'
import { manualClock } from './manual-clock.js'

/**
 * A built-in store on a clock that the test advances, until the end of the test.
 *
 * @param {import('node:test').TestContext} t
 */
export function testStore (t) {
  const clock = manualClock()
  const store = createStore({ clock, random: systemRandom })
  t.after(() => store.close())
  return { clock, store, client: () => storeClient(store.connect()) }
}

/**
 * @param {string[]} args
 * @returns {Buffer} the bytes of a request
 */
export const request = (...args) =>
  Buffer.from(`*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join('')}`, 'latin1')

/**
 * A client that sees the bytes of replies.
 *
 * @param {import('node:stream').Duplex} stream
 */
export function storeClient (stream) {
  let received = ''
  stream.setEncoding('latin1').on('data', (text) => { received += text }).on('error', () => {})
  const closed = once(stream, 'close')

  /** @param {string} [end] @returns {Promise<string>} what has come by then */
  async function until (end = '') {
    while (!received.endsWith(end) || received === '') await once(stream, 'data')
    const text = received
    received = ''
    return text
  }

  return {
    stream,
    closed,
    until,
    get received () { return received },

    /** @param {string[]} args @returns {Promise<string>} the reply, with all that came before it */
    async ask (...args) {
      stream.write(Buffer.concat([request(...args), request('PING', '~')]))
      return (await until('$1\r\n~\r\n')).slice(0, -'$1\r\n~\r\n'.length)
    }
  }
}
