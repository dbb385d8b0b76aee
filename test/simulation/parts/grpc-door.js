import net from 'node:net'
import { loadSync } from '@grpc/proto-loader'
import { fieldOfHeader, rpcOf } from '../../../src/services/api/grpc/names.js'
import { PROTO } from '../../../src/services/api/grpc/rpcs.js'
import { operations } from '../../../src/services/api/operations/index.js'
import { ERRORS } from '../../../src/base/common/errors.js'
import { CallSession } from '../world/call-session.js'
import '../world/patched-http2.js'
import { API_TOKEN } from './cluster.js'

const { 'inkcast.v1.Gateway': METHODS } = /** @type {any} */ (loadSync(PROTO, { longs: Number }))
/** The rpc of each path, and the names of its parameters. */
const RPCS = operations.map((operation) => ({
  method: operation.method,
  path: new RegExp(`^${operation.path.replaceAll(/:\w+/g, '([^/]+)')}$`),
  names: [...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => name),
  rpc: METHODS[rpcOf(operation)]
}))
/** Flag and length in front of each message. */
const HEAD = 5

/**
 * The gRPC api for a service that speaks HTTP: each request is a call of the rpc with the same meaning, over one
 * connection. Answers have the status that the HTTP api answers with.
 */
export class GrpcDoor {
  /** @type {CallSession | undefined} */
  #session
  calls = 0

  /** @param {import('../world/sim-process.js').SimProcess} process @param {number} patience ms */
  constructor (process, patience) {
    this.process = process
    this.patience = patience
  }

  /**
   * @param {string} method
   * @param {string} target path and query
   * @param {string} body
   * @param {Record<string, string>} headers
   * @returns {Promise<{ status: number, text: string }>} status 0: no answer
   */
  request (method, target, body, headers) {
    const { rpc, message } = callOf(method, target, body, headers)
    const bytes = rpc.requestSerialize(message)
    const head = Buffer.alloc(HEAD)
    head.writeUInt32BE(bytes.length, 1)
    this.calls++
    return new Promise((resolve) => {
      const call = this.#connection().request({
        ':path': rpc.path, ':authority': 'grpc', 'content-type': 'application/grpc',
        authorization: `Bearer ${API_TOKEN}`
      })
      /** @type {Buffer[]} */
      const received = []
      let answer = { status: 0, text: '' }
      const ended = (/** @type {Record<string, string>} */ trailers) => {
        if (trailers['grpc-status'] === undefined) return
        answer = answerOf(trailers, () => rpc.responseDeserialize(Buffer.concat(received).subarray(HEAD)))
      }
      const late = this.process.clock.timer(this.patience, () => {
        this.process.world.violation(`${this.process.name}: ${rpc.path} has no answer for ${this.patience / 1000} s`)
        call.close(0)
      })
      call.on('headers', ended).on('trailers', ended).on('data', (chunk) => received.push(chunk))
      call.on('close', () => {
        late.stop()
        resolve(answer)
      })
      call.end(Buffer.concat([head, bytes]))
    })
  }

  #connection () {
    if (this.#session !== undefined) return this.#session
    const socket = net.connect({ host: 'grpc', port: 80 })
    socket.on('error', () => socket.destroy())
    const session = this.#session = new CallSession(socket)
    for (const event of ['goaway', 'close'])
      session.on(event, () => { if (this.#session === session) this.#session = undefined })
    return session
  }
}

/** @param {string} method @param {string} target @param {string} body @param {Record<string, string>} headers */
function callOf (method, target, body, headers) {
  const [path, query] = target.split('?')
  const found = RPCS.find((one) => one.method === method && one.path.test(path))
  if (found === undefined) throw new Error(`no rpc for ${method} ${path}`)
  const values = /** @type {RegExpExecArray} */ (found.path.exec(path)).slice(1)
  return {
    rpc: found.rpc,
    message: {
      ...Object.fromEntries(new URLSearchParams(query)),
      ...Object.fromEntries(found.names.map((name, i) => [name, decodeURIComponent(values[i])])),
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [fieldOfHeader(name), value])),
      value: Buffer.from(body)
    }
  }
}

/** @param {Record<string, string>} trailers @param {() => object} decode */
function answerOf (trailers, decode) {
  if (trailers['grpc-status'] === '0') return { status: 200, text: JSON.stringify(decode()) }
  const code = /** @type {keyof typeof ERRORS} */ (trailers['inkcast-code'])
  return { status: ERRORS[code].status, text: `${code}: ${trailers['grpc-message']}` }
}
