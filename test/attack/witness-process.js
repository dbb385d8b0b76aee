/**
 * Well-behaved clients beside an attacker, in a process of their own, so that their measurements do not depend on the
 * attacker's CPU time. Each signals the other members of its document once a second. Callers of the api and a scrape
 * run beside them. The process takes commands from its parent (scene.js) and ends with it.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import WebSocket from 'ws'
import { waitFor } from '../helpers/wait.js'
import { startCallers } from './callers-beside.js'

/** Members of one document. */
const MEMBERS = 10
/** Interval of one client's signals, ms. */
const EVERY = 1000
const STATE = 'x'.repeat(1500)

/** @type {Witness[]} */
const witnesses = []
/** Latencies of responses and deliveries, ms. @type {number[]} */
let latencies = []
/** How late timers of this process are. */
const pauses = monitorEventLoopDelay()
let asked = 0
let answered = 0
let delivered = 0
/** First answers that were not `ok`. @type {string[]} */
const refused = []
/** Connections that ended. */
let closed = 0
let over = true
/** @type {ReturnType<typeof startCallers>} */
let beside

/** @param {string} packet */
function refuse (packet) { if (refused.length < 10) refused.push(packet) }

class Witness {
  ready = false
  /** @type {number[]} send time of each request, by its id modulo 1,000 */
  #asked = []
  #next = 0

  /** @param {string} url @param {string} token @param {number} number */
  constructor (url, token, number) {
    this.number = number
    this.guid = `witnesses-${Math.floor(number / MEMBERS)}`
    this.ws = new WebSocket(`${url.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`, {
      rejectUnauthorized: false,
      perMessageDeflate: false
    })
    this.ws.on('message', (data) => this.#packet(data.toString(), token))
    this.ws.on('error', () => {})
    this.ws.on('close', () => {
      this.ready = false
      closed++
    })
  }

  /** @param {string} packet @param {string} token */
  #packet (packet, token) {
    if (packet === '2') this.ws.send('3')
    else if (packet.startsWith('0'))
      this.ws.send(
        `40${JSON.stringify({ token, documents: { [this.guid]: null, crowd: { state: { name: STATE } } } })}`
      )
    else if (packet.startsWith('42["doc:joined"')) this.ready = true
    else if (packet.startsWith('42["tick",')) {
      delivered++
      latencies.push(performance.now() - Number(packet.slice(10, packet.indexOf(',', 10))))
    } else if (packet.startsWith('44')) refuse(packet)
    else if (packet.startsWith('43')) {
      const end = packet.indexOf('[')
      if (!packet.startsWith('[{"ok":true', end)) return refuse(packet)
      answered++
      latencies.push(performance.now() - this.#asked[Number(packet.slice(2, end)) % 1000])
    }
  }

  signal () {
    if (this.ws.readyState !== WebSocket.OPEN) return
    const id = this.#next++
    const now = this.#asked[id % 1000] = performance.now()
    asked++
    this.ws.send(`42${id}["doc:signal",{"guid":"${this.guid}","event":"tick","data":${now}}]`)
  }
}

const commands = {
  /** Connects the clients. @param {{ url: string, tokens: string[] }} options */
  async open ({ url, tokens }) {
    witnesses.push(...tokens.map((token, i) => new Witness(url, token, i)))
    await waitFor(() => witnesses.every(({ ready }) => ready), {
      timeout: 30_000,
      message: () => `${witnesses.filter(({ ready }) => ready).length} of ${witnesses.length} clients to join ${refused}`
    })
    for (const [i, witness] of witnesses.entries()) {
      setTimeout(() => {
        setInterval(() => { if (!over) witness.signal() }, EVERY)
      }, i * EVERY / witnesses.length)
    }
  },

  /** Begins with signals and requests. @param {Parameters<typeof startCallers>[0]} urls */
  async begin (urls) {
    over = false
    beside = startCallers(urls)
  },

  /** Resets the measurements; pending requests are still awaited. */
  async measure () {
    latencies = []
    pauses.enable()
    pauses.reset()
    beside.measure()
  },

  /** Stops sending, awaits pending responses, and reports. The clients stay connected. */
  async report () {
    over = true
    const expected = () => asked * (MEMBERS - 1)
    const deadline = performance.now() + 20_000
    while ((answered < asked || delivered < expected()) && performance.now() < deadline) await delay(20)
    return {
      latencies: Float64Array.from(latencies), paused: Math.round(pauses.max / 1e6), closed, refused,
      missing: asked - answered + expected() - delivered,
      ...await beside.report()
    }
  }
}

process.on('message', async (/** @type {{ command: keyof typeof commands, options: any }} */ { command, options }) => {
  try {
    process.send?.({ result: await commands[command](options) })
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.message : String(error) })
  }
})
process.on('disconnect', () => process.exit(0))
