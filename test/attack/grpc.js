/**
 * Attacks on the gRPC port, without a token and by a caller.
 */
import { connect } from 'node:http2'
import { setTimeout as delay } from 'node:timers/promises'
import { hold } from './wire.js'

/** @typedef {import('./anonymous.js').Attack} Attack */

const GATEWAY = '/inkcast.v1.Gateway/'
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
/** As many empty publications as fit into a message. */
const EMPTY = framed(Buffer.alloc(4_180_000, Buffer.from('0a00', 'hex')))
/** As many as a message may have; each one is refused. */
const REFUSED = framed(Buffer.alloc(2000, Buffer.from('0a00', 'hex')))
const UNFINISHED = framed(Buffer.alloc(1_000_000), 4_000_000)
const QUESTION = framed(Buffer.concat([Buffer.from([0x22, 18]), Buffer.from('inkcast.v1.Gateway')]))

/** @param {Buffer} bytes @param {number} [claimed] */
function framed (bytes, claimed = bytes.length) {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(claimed, 1)
  return Buffer.concat([head, bytes])
}

/**
 * Sessions with calls that are begun again when they end.
 *
 * @param {string} path
 * @param {Buffer} bytes of each call, written as often as the api reads them if `again`
 * @param {{ sessions?: number, calls?: number, again?: boolean, reads?: boolean, known?: boolean }}
 *   [options] known: with the token of a caller
 * @returns {Attack}
 */
const calls = (path, bytes, {
  sessions = 4, calls = 4, again = false, reads = true, known = false
} = {}) => async ({ grpcPort, apiToken, seconds }) => {
  const until = performance.now() + seconds * 1000
  const sent = { connections: 0, bytes: 0 }
  await Promise.all(Array.from({ length: sessions }, async () => {
    while (performance.now() < until) {
      const session = connect(`http://127.0.0.1:${grpcPort}`, {
        maxSessionMemory: 1000, settings: reads ? {} : { initialWindowSize: 0 }
      })
      session.on('error', () => {})
      sent.connections++
      await Promise.all(Array.from({ length: calls }, async () => {
        while (!session.destroyed && performance.now() < until) {
          const stream = session.request({
            ':method': 'POST',
            ':path': path,
            'content-type': 'application/grpc',
            te: 'trailers',
            ...known ? { authorization: `Bearer ${apiToken}` } : {}
          })
          let open = true
          stream.on('error', () => {})
          stream.on('close', () => { open = false })
          stream.resume()
          do {
            sent.bytes += bytes.length
            await new Promise((resolve) => {
              stream.write(bytes, resolve)
              setTimeout(resolve, 500)
            })
          } while (again && open && performance.now() < until)
          while (open && !again && performance.now() < until) await delay(10)
          stream.close(8)
        }
      }))
      session.destroy()
      await delay(20)
    }
  }))
  return sent
}

/** @type {Attack} */
const silent = (target) => hold(target, 1200, async (line, i) => {
  const bytes = ['', 'P', PREFACE, `${PREFACE}\0\0\0\x04\0\0\0\0\0`][i % 4]
  if (bytes !== '') await line.write(bytes)
}, { port: target.grpcPort })

/** @type {Record<string, Attack>} */
export const GRPC = {
  'gRPC: batches of 4 MB without a token': calls(`${GATEWAY}PublishBatch`, EMPTY),
  'gRPC: messages that do not end, without a token': calls(`${GATEWAY}PublishBatch`, UNFINISHED, { calls: 100 }),
  'gRPC: silent connections': silent,
  'gRPC: reflection without a token, not read': calls(REFLECTION, QUESTION, { again: true, reads: false }),

  'gRPC: batches of 4 MB': calls(`${GATEWAY}PublishBatch`, EMPTY, { known: true }),
  'gRPC: messages of 4 MB on PublishStream': calls(`${GATEWAY}PublishStream`, EMPTY, { known: true }),
  'gRPC: refused publications on PublishStream': calls(`${GATEWAY}PublishStream`, REFUSED, { again: true, known: true }),
  'gRPC: reflection with a token, not read': calls(REFLECTION, QUESTION, { again: true, reads: false, known: true })
}
