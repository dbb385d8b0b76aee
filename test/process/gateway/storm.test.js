import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import { entry, range } from '../../contract/bus-fixture.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { rawWebSocket } from '../../helpers/raw-client.js'
import { waitFor } from '../../helpers/wait.js'

const CLIENTS = 2000
const RECORDS = 60

test('2,000 clients that come back at once with about the same position read the log a few times, and hold up nothing', async (t) => {
  const { gateway, url } = await startEmbedded(t)
  await gateway.bus.publish(range(RECORDS, 1).map((i) => entry('storm', i)))
  const [end] = await gateway.bus.positions(['storm'])
  let reads = 0
  const { history } = gateway.bus
  gateway.bus.history = (...args) => {
    reads++
    return history(...args)
  }
  /** @type {Awaited<ReturnType<typeof rawWebSocket>>[]} */
  const clients = []
  /** @type {(() => unknown)[]} */
  const ends = []
  t.after(() => { for (const stop of ends) stop() })
  while (clients.length < CLIENTS) clients.push(...await Promise.all(range(100).map(() => rawWebSocket({ after: (stop) => ends.push(stop) }, url))))

  const lag = monitorEventLoopDelay({ resolution: 10 })
  lag.enable()
  clients.forEach((client, i) => client.send(`40${JSON.stringify({ documents: { storm: { ...end, offset: 10 + i % 40 } } })}`))
  await waitFor(() => clients.every(({ received }) => String(received.at(-1)).includes('"doc:joined"')), { timeout: 60_000 })
  lag.disable()

  for (const [i, { received }] of clients.entries()) {
    const offsets = received.flatMap((text) => /^42\["message",.*"offset":(\d+)/.exec(String(text))?.[1] ?? []).map(Number)
    assert.deepEqual(offsets, range(RECORDS - 10 - i % 40, 11 + i % 40))
  }
  t.diagnostic(`${reads} reads of the log; longest pause of the event loop, clients included: ${Math.round(lag.max / 1e6)} ms`)
  assert.ok(reads <= 20, `${reads} reads`)
})
