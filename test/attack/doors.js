/**
 * Attacks on the ports themselves: requests inside of others, and requests that are wrong.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { framedRequests } from '../helpers/framings.js'
import { malformedRequests } from '../helpers/malformed.js'
import { keepBusy } from './wire.js'

/** @typedef {import('./anonymous.js').Attack} Attack */

const POLLING = '/socket.io/?EIO=4&transport=polling'
const MOVE = '{"share":1}'
/** Moves all clients, if a worker ever takes it for a request. */
const COMMAND = `POST /move HTTP/1.1\r\nHost: x\r\nContent-Length: ${MOVE.length}\r\n\r\n${MOVE}`
const LINES = 24
/** Some requests never end, ms. */
const PATIENCE = 100

/** @param {string} path */
const get = (path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

/**
 * Sends the same requests again and again, each on a line of its own.
 * @param {(target: import('./wire.js').Target) => number | undefined} portOf
 * @param {(string | Buffer)[]} requests
 * @returns {Attack}
 */
const oneByOne = (portOf, requests) => (target) => {
  let count = 0
  return keepBusy({ ...target, port: portOf(target) ?? target.port }, LINES, async (line) => {
    await line.write(requests[count++ % requests.length])
    await line.answer(/HTTP\/1\.[01] \d/, PATIENCE)
  })
}

const MALFORMED = malformedRequests(2000)

let packets = 0
const PIPELINED = ['/live', '/nothing', POLLING].map((path) => get(path).repeat(200))

/** @type {Record<string, Attack>} */
export const DOORS = {
  'malformed requests at PORT': oneByOne(({ port }) => port, MALFORMED),
  'malformed requests at API_PORT': oneByOne(({ apiPort }) => apiPort, MALFORMED),
  'malformed requests at ADMIN_PORT': oneByOne(({ adminPort }) => adminPort, MALFORMED),
  // 10,000 requests a second, in packets of 200
  'small requests at PORT, pipelined and not read': (target) => keepBusy(target, 50, async (line) => {
    line.socket.pause()
    await line.write(PIPELINED[packets++ % PIPELINED.length])
    await delay(1000)
  }),
  'GET // at ADMIN_PORT, pipelined': (target) =>
    keepBusy({ ...target, port: target.adminPort }, 4, async (line, until) => {
      const requests = get('//').repeat(8)
      while (!line.ended && performance.now() < until) {
        await line.write(requests)
        await delay(2)
      }
    }),
  'rendered docs, pipelined': (target) =>
    keepBusy({ ...target, port: target.adminPort }, 4, async (line, until) => {
      const requests = get('/docs/protocol.md').repeat(8)
      while (!line.ended && performance.now() < until) {
        await line.write(requests)
        await delay(4)
      }
    })
}

/** Of the framings below: each line goes on where another one has ended. */
let next = 0

/** Only where there are two workers. @type {Record<string, Attack>} */
export const BETWEEN_WORKERS = {
  'bodies on GET and OPTIONS of a polling session': (target) => keepBusy(target, LINES, async (line, until) => {
    await line.write(get(POLLING))
    const sid = (await line.answer(/"sid":"([^"]+)"/))?.[1]
    if (sid === undefined) return
    const cases = framedRequests({
      target: `${POLLING}&sid=${sid}`, body: COMMAND, next: () => get(POLLING), methods: ['GET', 'OPTIONS']
    })
    while (!line.ended && performance.now() < until) {
      // most of them end the line
      const { parts } = cases[next++ % cases.length]
      for (const part of parts) await line.write(part)
      await delay(5)
    }
  })
}
