import assert from 'node:assert/strict'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { entry, range } from '../../contract/bus-fixture.js'
import { startEmbedded } from '../../helpers/embedded.js'

const CLIENTS = 500
const RECORDS = 60

test(
  '500 clients that reconnect at once with about the same position share a few reads of the log',
  { timeout: 90_000 },
  async (t) => {
    const { gateway, url } = await startEmbedded(t)
    await gateway.bus.publish(range(RECORDS, 1).map((i) => entry('storm', i)))
    const [end] = await gateway.bus.positions(['storm'])
    assert.ok(end)
    // ends sessions that are not admitted within 10 s; a busy machine takes longer for all of them
    gateway.engine.inputLimits.look = () => {}
    let reads = 0
    const { history } = gateway.bus
    gateway.bus.history = (...args) => {
      reads++
      return history(...args)
    }
    const clients = new Worker(new URL('../../helpers/storm-clients.js', import.meta.url), {
      workerData: { url, count: CLIENTS }
    })
    t.after(() => clients.terminate())
    assert.deepEqual(await once(clients, 'message'), ['open'])

    const lag = monitorEventLoopDelay({ resolution: 10 })
    lag.enable()
    clients.postMessage(range(CLIENTS).map((i) => ({ ...end, offset: 10 + (i % 40) })))
    const [offsets] = await once(clients, 'message')
    lag.disable()

    assert.deepEqual(offsets, range(CLIENTS).map((i) => range(RECORDS - 10 - (i % 40), 11 + (i % 40))))
    t.diagnostic(`${reads} reads of the log; longest delay of the event loop: ${Math.round(lag.max / 1e6)} ms`)
    assert.ok(reads < CLIENTS / 10, `${reads} reads`)
  }
)
