import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reversed } from '../helpers/file-scope.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { plainClient } from '../helpers/plain-client.js'
import { startRoles } from '../helpers/roles.js'
import { SECRET, signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'

test('a device that connects to another worker ends its old connection once, and gets its records there', async (t) => {
  const scope = reversed(t)
  const { urls, apiUrl, post } = await startRoles(scope, {
    WORKERS: '2', REDIS_URL: await ownRedisUrl(scope), LISTENERS: 'ws:/websocket/handshake', AUTH_JWT_SECRET: SECRET
  })
  const token = await signToken({ sub: 'ada' })
  const connect = async (/** @type {string} */ url) => {
    const device = await plainClient(t, url, { query: `?id=board&token=${token}` })
    return Object.assign(device, { sid: (await device.event('gateway:connected')).payload.id })
  }
  const workers = new Set()
  let device = await connect(urls[0])
  for (const url of [urls[0], urls[1], urls[0], urls[1]]) {
    const before = device
    device = await connect(url)
    workers.add(device.sid.slice(0, 2))
    assert.deepEqual(await before.closed, { code: 1008, reason: 'replaced' })
    assert.equal(before.received.filter(({ event }) => event === 'gateway:disconnect').length, 1)
  }
  assert.equal(workers.size, 2)
  await post('/v1/devices/board/send', { text: 'hello' }, { 'x-uid': 'ada' })
  assert.deepEqual((await device.event('message')).payload, { text: 'hello' })
  await waitFor(async () => {
    const { sessions } = /** @type {any} */ (await (await fetch(`${apiUrl}/v1/devices/board?uid=ada`)).json())
    return sessions.length === 1 && sessions[0].sid === device.sid
  })
})
