#!/usr/bin/env node
/**
 * Memory of the kernel for an idle TCP connection, which no figure of a process contains: `node bench/sockets.js`. It
 * takes a few seconds; other programs that open or close many connections meanwhile spoil it.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { environment } from './measure/environment.js'
import { round } from './measure/quantiles.js'
import { saveResults } from './report/results.js'
import { markdownTable } from './report/table.js'

const CONNECTIONS = 8000
const ROUNDS = 3
/** Addresses of loopback, so that ports are not used up. */
const ADDRESSES = 4

if (process.send) await openAll(Number(process.argv[2]))
else await measure()

/** @param {number} port */
async function openAll (port) {
  const sockets = []
  for (let i = 0; i < CONNECTIONS; i++) {
    const socket = net.connect({ port, host: `127.0.0.${1 + (i % ADDRESSES)}` })
    sockets.push(socket)
    await once(socket, 'connect')
    // what a WebSocket client sends and gets, so that buffers have been in use
    socket.write(Buffer.alloc(600))
    if (i % 100 === 99) await Promise.all(sockets.slice(-100).map((one) => once(one, 'data')))
  }
  process.send?.('open')
}

async function measure () {
  const where = environment()
  const rounds = []
  for (let i = 0; i < ROUNDS; i++) rounds.push(await runRound())
  const highest = Math.max(...rounds)
  const table = markdownTable(['round', 'KB of the kernel per connection'], [
    ...rounds.map((each, i) => [String(i + 1), String(each)]), ['highest', String(highest)]
  ])
  console.log(table)
  const { kernel, load } = where.machine
  const page = [
    `# Kernel memory of connections, ${where.date.slice(0, 10)}`, table, '## How it was measured',
    `\`${where.command}\` on ${where.date}, ${kernel}, load ${load} before the run. ${CONNECTIONS} TCP connections over loopback, both ` +
    'ends on this machine, open and idle after one message each way. ' +
    'The growth of Slab (sockets, inodes, files, entries of epoll) and of TCP buffers in /proc, divided by the number of ends.'
  ].join('\n\n') + '\n'
  console.log(saveResults('sockets', { ...where, rounds, highest }, () => page))
  process.exit()
}

/** @returns {Promise<number>} KB per end of a connection */
async function runRound () {
  const server = net.createServer((socket) => {
    socket.on('data', () => socket.write(Buffer.alloc(300)))
    socket.on('error', () => {})
  }).listen(0, '0.0.0.0', 4096)
  await once(server, 'listening')
  const { port } = /** @type {net.AddressInfo} */ (server.address())
  const before = kernelKB()
  const client = fork(new URL(import.meta.url), [String(port)])
  await once(client, 'message')
  await delay(2000)
  const each = round((kernelKB() - before) / CONNECTIONS / 2, 2)
  client.kill()
  await once(client, 'exit')
  server.close()
  await delay(3000)
  return each
}

/** @returns {number} */
function kernelKB () {
  const [, slab] = /^Slab:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? []
  const [, pages] = /^TCP:.* mem (\d+)/m.exec(readFileSync('/proc/net/sockstat', 'utf8')) ?? []
  return Number(slab) + Number(pages) * 4
}
