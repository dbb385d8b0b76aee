/**
 * A worker at a slot's socket, started by fork. When told how many connections will come it does nothing for a while,
 * then tells in how many turns of the event loop it has taken them.
 */
import http from 'node:http'
import { createSlotPort } from '../../src/gateway/public-port.js'

/** So long nothing is taken, ms. */
const BUSY = 500

const server = http.createServer()
let taken = 0
server.on('connection', () => { taken++ })
const door = createSlotPort({ port: 0 })
await door.open(server)
process.on('message', (/** @type {any} */ { connections }) => {
  if (connections === undefined) return
  const until = performance.now() + BUSY
  let turns = 0
  let before = 0
  const turn = () => {
    if (taken > before) turns++
    before = taken
    if (taken < connections) setImmediate(turn)
    else door.leave(server, () => process.send?.({ turns }, () => process.exit()))
    server.closeAllConnections()
  }
  while (performance.now() < until) { /* busy */ }
  turn()
})
process.send?.({ ready: true })
