import { inCluster } from '../simulation/script/scripted-cluster.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tokenOf } from '../simulation/parts/page.js'

const NOTIFICATIONS = 120
const KILLS = 3

test('a user gets notifications of Kafka once and in order, although all workers are killed', () =>
  inCluster({ kafka: true }, async (cluster) => {
    /** @type {any} */
    let position = {}
    let connects = 0
    const page = await cluster.connect('ada', { auth: (tell) => tell({ token: tokenOf('ada'), user: position }) })
    connects++
    page.socket?.on('connect', () => { connects++ })
    position = await cluster.until(() => page.got('gateway:user')[0]?.position)
    page.socket?.on('note', (_, { user: { epoch, offset } }) => { position = { epoch, offset } })
    for (let i = 0; i < NOTIFICATIONS; i++) {
      await cluster.produce({ 'x-operator': 'user', 'x-uid': 'ada', 'x-event': 'note', 'x-keep': 'true' }, i)
      if (i % (NOTIFICATIONS / KILLS) !== 20) continue
      await cluster.until(() => page.connected)
      for (const slot of cluster.gateways) cluster.kill(slot)
    }
    await cluster.until(() => page.got('note').length >= NOTIFICATIONS, { message: () => page.got('note').length })
    await cluster.pass(1000)
    assert.deepEqual(page.got('note'), Array.from({ length: NOTIFICATIONS }, (_, i) => i))
    assert.deepEqual(page.got('gateway:resync'), [])
    assert.equal(connects, KILLS + 1)
  }))
