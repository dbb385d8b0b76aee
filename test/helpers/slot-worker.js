/**
 * A worker on a slot's socket, started by fork. When it gets the number of expected connections, it counts the turns of
 * the event loop in which it accepts them, and reports their number.
 */
import http from 'node:http'
import { createSlotPort } from '../../src/gateway/public-port.js'

const server = http.createServer()
let taken = 0
server.on('connection', () => { taken++ })
const door = createSlotPort({ port: 0 })
await door.open(server)
process.on('message', (/** @type {any} */ { connections }) => {
  if (connections === undefined) return
  let turns = 0
  let before = 0
  const turn = () => {
    if (taken > before) turns++
    before = taken
    if (taken < connections) setImmediate(turn)
    else door.leave(server, () => process.send?.({ turns }, () => process.exit()))
    server.closeAllConnections()
  }
  turn()
})
process.send?.({ ready: true })
