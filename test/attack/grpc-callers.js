import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { grpcClient } from '../helpers/grpc.js'
import { OBSERVER_TOKEN } from './clusters.js'

const CALLERS = 5
/** Pause of a caller between two calls, ms. */
const PAUSE = 50

/**
 * Well-behaved callers of the gRPC port.
 * @param {import('node:test').TestContext} t
 * @param {number} port
 * @returns {() => Promise<number[]>} ends their calls; latencies in ms
 */
export function startGrpcCallers (t, port) {
  let over = false
  /** @type {number[]} */
  const latencies = []
  const callers = Array.from({ length: CALLERS }, async (_, i) => {
    const { call } = grpcClient(t, port, OBSERVER_TOKEN)
    while (!over) {
      const begin = performance.now()
      const { guid, inkcast } = await call('Position', { guid: `g-${i}` })
      assert.equal(guid, `g-${i}`, inkcast)
      latencies.push(performance.now() - begin)
      await delay(PAUSE)
    }
  })
  return async () => {
    over = true
    await Promise.all(callers)
    return latencies
  }
}
