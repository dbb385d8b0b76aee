#!/usr/bin/env node
/** Brings a crowd into a document of the gateway on this machine, as the demo's button does. */
import { createCrowd } from '../packages/demo/crowd/crowd.js'
import * as inkcast from '../src/operate/roles/demo-parts.js'

const USAGE = `Brings a crowd into a document of the gateway on this machine

  npm run crowd -- [guests] [document] [seconds] [port]

  guests     1 to 1000 (1000)
  document   (demo)
  seconds    1 to 3600 (120)
  port       of the gateway (3000)`

/** @param {string} message @param {number} code @returns {never} */
function end (message, code) {
  console[code === 0 ? 'log' : 'error'](message)
  process.exit(code)
}

const words = process.argv.slice(2)
if (words.includes('--help') || words.includes('-h')) end(USAGE, 0)
const document = words[1] ?? 'demo'
const [guests, seconds, port] = [words[0] ?? 1000, words[2] ?? 120, words[3] ?? 3000].map(Number)
for (const [name, value, highest] of /** @type {[string, number, number][]} */ (
  [['guests', guests, 1000], ['seconds', seconds, 3600], ['port', port, 65_535]]
)) {
  if (!Number.isInteger(value) || value < 1 || value > highest)
    end(`${name} must be a number from 1 to ${highest}\n\n${USAGE}`, 2)
}

let most = 0
const crowd = createCrowd(inkcast, {
  target: () => ({ host: '127.0.0.1', port, secure: false, insecure: false }),
  event: 'demo:pulse',
  onReport ({ connected, perSecond, reconnects, lost }) {
    most = Math.max(most, connected)
    console.log(`${connected} guests  ${perSecond} deliveries/s  ${reconnects} reconnects  ${lost} lost`)
  },
  onEnd () {
    const { deliveries = 0, lost = 0 } = crowd.state ?? {}
    if (most === 0) end(`no guest could connect to port ${port}: is a gateway running there?`, 1)
    console.log(`the crowd has left: ${deliveries} deliveries, ${lost} lost`)
    process.exitCode = lost === 0 ? 0 : 1
  }
})
crowd.begin({ document, guests, seconds })
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => crowd.stop())
