/**
 * Members of one room on all workers, and emits to the room from one of them.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createSigner } from 'fast-jwt'
import { io } from 'socket.io-client'
import { waitUntil } from '../../test/services/wait.js'
import { difference, sample, usageOf } from '../measure/processes.js'

const PAYLOAD = { text: 'x'.repeat(200), at: 1 }
/** Emits before the measurement: the code is compiled then. */
const WARM_UP = 1000

/**
 * @param {import('../systems/system.js').System} system
 * @param {{ members: number, emits: number, perSecond: number, secret: string, redisPid: number }} settings
 */
export async function runRound (system, { members, emits, perSecond, secret, redisPid }) {
  const url = `http://${system.target.host}:${system.target.port}`
  const sign = createSigner({ key: secret, algorithm: 'HS256', expiresIn: 3_600_000 })
  let received = 0
  const clients = Array.from({ length: members }, (_, i) =>
    io(url, { transports: ['websocket'], forceNew: true, auth: { token: sign({ sub: `user-${i}` }) } }))
  const ask = (/** @type {number} */ client, /** @type {string} */ event, /** @type {unknown[]} */ ...args) =>
    clients[client].timeout(20_000).emitWithAck(event, ...args)
  try {
    for (const client of clients) client.on('message', () => { received++ })
    await waitUntil('all clients to be connected', async () => {
      if (clients.some(({ connected }) => !connected)) throw new Error('not yet')
    })
    await Promise.all(clients.map((_, i) => ask(i, 'join', 'room')))

    /** @param {number} count */
    const emit = async (count) => {
      received = 0
      const begin = performance.now()
      /** @type {Promise<unknown>[]} */
      const asked = []
      for (let i = 0; i < count; i++) {
        const early = begin + (i * 1000) / perSecond - performance.now()
        if (early > 0) await delay(early)
        asked.push(ask(0, 'emit', 'room', PAYLOAD))
      }
      await Promise.all(asked)
      await waitUntil('all messages', async () => {
        if (received < count * members) throw new Error(`${received} of ${count * members}`)
      })
    }
    await emit(WARM_UP)
    const [before, redisBefore, own] = [sample(system.processes), usageOf(redisPid).cpuMs, process.cpuUsage()]
    await emit(emits)
    const after = sample(system.processes)
    const perEmit = (/** @type {number} */ ms) => Math.round((ms * 1000) / emits * 10) / 10
    const { user, system: kernel } = process.cpuUsage(own)
    return {
      system: system.name,
      serverUs: perEmit(difference(before, after).reduce((sum, { cpuMs }) => sum + cpuMs, 0)),
      redisUs: perEmit(usageOf(redisPid).cpuMs - redisBefore),
      clientUs: perEmit((user + kernel) / 1000),
      received,
      expected: emits * members
    }
  } finally {
    for (const client of clients) client.disconnect()
  }
}
/** @typedef {Awaited<ReturnType<typeof runRound>>} RoundResult */
