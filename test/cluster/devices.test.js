import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster } from '../helpers/cluster.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { plainClient } from '../helpers/plain-client.js'
import { SECRET, signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'

test('a device that connects to another worker ends its old connection once, and gets its records there', async (t) => {
  const cluster = await startCluster(t, {
    WORKERS: '2', REDIS_URL: await ownRedisUrl(t), LISTENERS: 'ws:/websocket/handshake', AUTH_JWT_SECRET: SECRET
  })
  const token = await signToken({ sub: 'ada' })
  const connect = async () => {
    const device = await plainClient(t, cluster.url, { query: `?id=board&token=${token}` })
    return Object.assign(device, { sid: (await device.event('gateway:connected')).payload.id })
  }
  const workers = new Set()
  let device = await connect()
  for (let i = 0; i < 40 && workers.size < 2; i++) {
    const before = device
    device = await connect()
    workers.add(device.sid.slice(0, 2))
    assert.deepEqual(await before.closed, { code: 1008, reason: 'replaced' })
    assert.equal(before.received.filter(({ event }) => event === 'gateway:disconnect').length, 1)
  }
  assert.equal(workers.size, 2)
  await cluster.post('/v1/devices/board/send', { text: 'hello' }, { 'x-uid': 'ada' })
  assert.deepEqual((await device.event('message')).payload, { text: 'hello' })
  await waitFor(async () => {
    const { sessions } = /** @type {any} */ (await (await fetch(`${cluster.apiUrl}/v1/devices/board?uid=ada`)).json())
    return sessions.length === 1 && sessions[0].sid === device.sid
  })
})
