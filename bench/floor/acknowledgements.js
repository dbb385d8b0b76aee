#!/usr/bin/env node
/**
 * The floor of a delivery with quality of service 1: `node bench/floor/acknowledgements.js`, a minute. A process
 * writes the frames of MQTT to bare sockets, as a worker does in bursts and at a steady rate. Its clients answer with
 * the bytes of PUBACK, or with nothing. The process does not look at the answers: the difference is what Node and the
 * kernel alone need to read them.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'
import { round } from '../measure/quantiles.js'
import { READ_BUFFER } from '../../packages/load/socket.js'
import { markdownTable } from '../report/table.js'

const HOST = '127.0.0.1'
/** Of one worker, in documents of 100 members, as in bench/run.js. */
const CLIENTS = 4500
const MEMBERS = 100
/** Bytes of a PUBLISH of that benchmark, and of a PUBACK. */
const FRAME = 590
const PUBACK = 4
const ROUNDS = 4
/** Records that a client gets in one write, pause after the members of a document, and writes to each client. */
const PHASES = [
  { name: 'bursts of 10', records: 10, pauseMs: 0, times: 20 },
  { name: '5,000 a second', records: 1, pauseMs: 20, times: 5 }
]

if (process.send) clients(Number(process.argv[2]))
else await measure()

/** Reads whole writes, and answers them if it is asked to. @param {number} port */
function clients (port) {
  let answers = false
  let awaited = 0
  process.on('message', (/** @type {any} */ asked) => {
    ;({ answers, awaited } = asked)
    process.send?.('ready')
  })
  for (let i = 0; i < CLIENTS; i++) {
    let bytes = 0
    const socket = net.connect({
      host: HOST, port, noDelay: true,
      onread: {
        buffer: READ_BUFFER,
        callback (length) {
          bytes += length
          const frames = Math.floor(bytes / FRAME)
          bytes -= frames * FRAME
          if (answers && frames > 0) socket.write(Buffer.alloc(frames * PUBACK))
          awaited -= frames
          if (frames > 0 && awaited === 0) process.send?.('received')
          return true
        }
      }
    })
  }
}

async function measure () {
  /** @type {net.Socket[]} */
  const sockets = []
  let read = 0
  const server = net.createServer({ noDelay: true }, (socket) => {
    sockets.push(socket.on('data', (chunk) => { read += chunk.length }))
  }).listen(0, HOST, CLIENTS)
  await once(server, 'listening')
  const child = fork(new URL(import.meta.url), [String(/** @type {net.AddressInfo} */ (server.address()).port)])
  while (sockets.length < CLIENTS) await delay(100)

  /** @param {typeof PHASES[number]} phase @param {boolean} answers @returns {Promise<number>} us per delivery */
  const run = async ({ records, pauseMs, times }, answers) => {
    const frames = Buffer.alloc(records * FRAME)
    const before = process.cpuUsage()
    for (let i = 0; i < times; i++) {
      child.send({ answers, awaited: CLIENTS * records })
      await once(child, 'message')
      const received = once(child, 'message')
      read = 0
      for (let at = 0; at < CLIENTS; at += MEMBERS) {
        for (const socket of sockets.slice(at, at + MEMBERS)) socket.write(frames)
        // answers are read between two documents, as between two messages of Redis
        await (pauseMs === 0 ? turn() : delay(pauseMs))
      }
      await received
      while (answers && read < CLIENTS * records * PUBACK) await delay(1)
    }
    const { user, system } = process.cpuUsage(before)
    return (user + system) / (CLIENTS * records * times)
  }

  const rows = []
  for (const phase of PHASES) {
    /** @type {[number[], number[]]} */
    const costs = [[], []]
    await run(phase, true) // compiles
    for (let i = 0; i < ROUNDS; i++)
      for (const answers of i % 2 === 0 ? [0, 1] : [1, 0]) costs[answers].push(await run(phase, answers === 1))
    const [without, answered] = costs.map((each) => each.toSorted((one, other) => one - other)[ROUNDS >> 1])
    const figures = [without, answered, answered - without, answered / without]
    rows.push([phase.name, ...figures.map((figure) => round(figure, 2))])
  }
  console.log(markdownTable(['us per delivery, middle', 'without answers', 'with answers', 'difference', 'ratio'], rows))
  process.exit()
}
