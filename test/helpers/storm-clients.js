import { parentPort, workerData } from 'node:worker_threads'
import { range } from '../contract/bus-fixture.js'
import { rawWebSocket } from './raw-client.js'
import { waitFor } from './wait.js'

/**
 * Clients that open connections and report it, then resume a document all at once when they get its position, and
 * report the records that each received. In a thread of their own, so that their CPU time does not delay the gateway
 * under test.
 */
const { url, count } = /** @type {{ url: string, count: number }} */ (workerData)
const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort)
/** @type {Awaited<ReturnType<typeof rawWebSocket>>[]} */
const clients = []
while (clients.length < count)
  clients.push(...(await Promise.all(range(100).map(() => rawWebSocket({ after () {} }, url)))))
port.postMessage('open')

port.once('message', async (/** @type {import('../../src/wire/position.js').Position[]} */ positions) => {
  clients.forEach((client, i) => client.send(`40${JSON.stringify({ documents: { storm: positions[i] } })}`))
  const back = (/** @type {typeof clients[number]} */ { received }) =>
    received.some((text) => String(text).includes('"doc:joined"'))
  await waitFor(() => clients.every(back), {
    timeout: 60_000,
    message: () =>
      `${clients.filter(back).length} clients to have joined; one got ${clients
        .find((client) => !back(client))
        ?.received.join(' ')
        .slice(0, 500)}`
  })
  port.postMessage(
    clients.map(({ received }) =>
      received.flatMap((text) => /^42\["message",.*"offset":(\d+)/.exec(String(text))?.[1] ?? []).map(Number)
    )
  )
  for (const { ws } of clients) ws.terminate()
})
