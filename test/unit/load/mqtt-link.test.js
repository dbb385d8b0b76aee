import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'node:test'
import mqttPacket from 'mqtt-packet'
import { guidOf, LoadClient } from '../../../packages/load/client.js'
import { planOf } from '../../../packages/load/plan.js'
import { waitFor } from '../../helpers/wait.js'

const VERSION = { protocolVersion: 5 }
const REFUSED = 0x87

/**
 * A server that keeps sessions, and a client of it that connects again after each end.
 * @param {import('node:test').TestContext} t
 * @param {Partial<import('../../../packages/load/plan.js').Plan>} plan
 * @param {(count: number) => number[] | undefined} grant reason codes of a SUBACK, by the number of the SUBSCRIBE;
 *   undefined: none is sent, and the connection breaks
 */
async function connectTo (t, plan, grant) {
  /** @type {string[]} */
  const packets = []
  let [subscribes, hasSession] = [0, false]
  const server = net.createServer((socket) => {
    const write = (/** @type {any} */ packet) => socket.write(mqttPacket.generate(packet, VERSION))
    const parser = mqttPacket.parser(VERSION)
    parser.on('packet', (packet) => {
      packets.push(packet.cmd)
      if (packet.cmd === 'connect') {
        write({ cmd: 'connack', reasonCode: 0, sessionPresent: hasSession && !packet.clean })
        hasSession = true
      } else if (packet.cmd === 'subscribe') {
        const granted = grant(++subscribes)
        if (granted === undefined) socket.destroy()
        else write({ cmd: 'suback', messageId: packet.messageId, granted })
      }
    })
    socket.on('data', (chunk) => parser.parse(chunk))
    socket.on('error', () => {})
    t.after(() => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = /** @type {net.AddressInfo} */ (server.address())
  const whole = planOf('hold', { protocol: 'mqtt', ...plan })
  const client = new LoadClient({
    run: 'r', plan: whole,
    target: { host: '127.0.0.1', port, secure: false, insecure: false },
    counts: { deliveries: 0, doubled: 0, holes: 0, acknowledged: 0, cut: 0, unasked: 0 },
    onLatency () {}, onOpen () {}, onEnd: () => client.connect()
  }, {
    id: 'one', msgpack: false, polling: false,
    documents: new Map(Array.from({ length: whole.documents }, (_, i) => [guidOf('r', i), i]))
  })
  t.after(() => client.leave(false))
  client.connect()
  return { client, packets }
}

const TWICE = ['connect', 'subscribe', 'connect', 'subscribe']

for (const [name, first] of /** @type {const} */ ([['has no answer', undefined], ['was refused', [REFUSED]]])) {
  test(`a client whose subscription ${name} subscribes again, although the server has a session`, async (t) => {
    const { client, packets } = await connectTo(t, { documents: 1 }, (count) => count === 1 ? first?.slice() : [1])
    await waitFor(() => client.state === 'open')
    assert.deepEqual(packets.filter((cmd) => cmd !== 'disconnect'), TWICE)
  })
}

test('a client with records to everyone only is open when its subscription is confirmed', async (t) => {
  const { client, packets } = await connectTo(t, { everyone: 1000 }, (count) => count === 1 ? undefined : [1])
  await waitFor(() => client.state === 'open')
  assert.deepEqual(packets, TWICE)
})

test('a session whose subscription was confirmed continues without another one', async (t) => {
  const { client, packets } = await connectTo(t, { documents: 1 }, () => [1])
  await waitFor(() => client.state === 'open')
  client.leave(true)
  client.connect()
  await waitFor(() => client.state === 'open')
  assert.deepEqual(packets.filter((cmd) => cmd !== 'disconnect'), ['connect', 'subscribe', 'connect'])
})
