import { createHmac } from 'node:crypto'
import http from 'node:http'

const KEY = Buffer.from('a key of a simulated receiver, 32').toString('base64')
const PORT = 4000
/** Settings of inkcast for it. */
export const RECEIVER_SETTINGS = { UPLINK_URL: `http://receiver:${PORT}/events`, UPLINK_SECRETS: `whsec_${KEY}` }

/**
 * @typedef {{ status?: number, body?: object }} Answer
 */

/** A service that gets events by webhook, and answers as its test says. It can end and start again. */
export class ScriptedReceiver {
  /** Accepted, in the order of arrival. @type {any[]} */
  events = []
  requests = 0
  #world
  #answer
  #starts = 0

  /**
   * @param {import('./scripted-cluster.js').ScriptedCluster} cluster
   * @param {(events: any[], request: number) => Answer | undefined} answer default: 204
   */
  constructor ({ world }, answer = () => undefined) {
    this.#world = world
    this.#answer = answer
    this.start()
  }

  start () {
    const process = this.process = this.#world.process(`receiver.${++this.#starts}`, { name: 'receiver', step: 0 })
    process.isClient = true
    process.enter('listen', () => {
      http.createServer((request, response) => {
        /** @type {Buffer[]} */
        const chunks = []
        request.on('data', (chunk) => chunks.push(chunk))
        request.on('error', () => {})
        request.on('end', () => this.#handle(request.headers, Buffer.concat(chunks), response))
      }).listen(PORT, '0.0.0.0')
    })
  }

  stop () { this.process?.end(null) }

  /** @param {http.IncomingHttpHeaders} headers @param {Buffer} body @param {http.ServerResponse} response */
  #handle (headers, body, response) {
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`
    const expected = createHmac('sha256', Buffer.from(KEY, 'base64')).update(signed).update(body).digest('base64')
    if (headers['webhook-signature'] !== `v1,${expected}`) this.#world.violation('a webhook with a wrong signature')
    const events = JSON.parse(body.toString())
    const { status, body: answer } = this.#answer(events, ++this.requests) ?? {}
    if (status === undefined) this.events.push(...events)
    response.writeHead(status ?? (answer === undefined ? 204 : 200), { 'content-type': 'application/json' })
    response.end(answer && JSON.stringify(answer))
  }
}
