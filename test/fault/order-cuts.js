import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { startCluster } from '../helpers/cluster.js'
import { connectClient } from '../helpers/clients.js'
import { freshTopics } from '../helpers/kafka.js'
import { ownRedisUrl } from '../helpers/own-redis.js'
import { SECRET, signToken } from '../helpers/tokens.js'
import { waitFor } from '../helpers/wait.js'

/**
 * Kicks and revokes while the workers' connections to Redis are cut repeatedly. A record directly follows each revoke.
 *
 * @typedef {object} Cuts results
 * @property {number} orders
 * @property {number} lost kicks whose user stayed connected, revokes whose user stayed in the document
 * @property {number} leaked records after a revoke that reached the revoked user
 * @property {number} rejoined revoked users that were able to join again with the same token
 * @property {number} records
 * @property {number} deliveries to clients that no order concerned
 * @property {number} missing records that those clients did not receive
 * @property {number} cuts connections closed
 * @property {number} tries retries by publishers
 */

const USERS = 24
const DOCUMENTS = 4
/** Time over which a round's orders are spread, ms. */
const ROUND = 1500

/**
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {object} options
 * @param {'kafka' | 'http'} options.by transport of the orders
 * @param {(cut: Cuts) => void} [options.onRound]
 * @param {() => number} options.random
 */
export async function openOrderCuts (t, { by, random, onRound = () => {} }) {
  const REDIS_URL = await ownRedisUrl(t)
  const redis = new Redis(REDIS_URL)
  redis.on('error', () => {})
  t.after(() => redis.disconnect())
  const topics = by === 'kafka' ? freshTopics(t) : undefined
  const cluster = await startCluster(
    t,
    { WORKERS: '2', REDIS_URL, AUTH_JWT_SECRET: SECRET, ...topics?.env },
    { timeout: 90_000 }
  )
  const producer = await topics?.producer()
  /** @type {Cuts} */
  const sum = { orders: 0, lost: 0, leaked: 0, rejoined: 0, records: 0, deliveries: 0, missing: 0, cuts: 0, tries: 0 }

  /** Closes random connections to Redis, mostly pub/sub. @param {AbortSignal} signal */
  async function cut (signal) {
    while (!signal.aborted) {
      sum.cuts += Number(
        await redis.call('CLIENT', 'KILL', 'TYPE', random() < 0.8 ? 'pubsub' : 'normal', 'SKIPME', 'yes').catch(() => 0)
      )
      await delay(30 + random() * 370)
    }
  }

  /** Retries a 5xx as a service would. @param {string} path @param {RequestInit} init */
  async function request (path, init) {
    for (const end = performance.now() + 60_000; ; sum.tries++) {
      const { status } = await fetch(cluster.apiUrl + path, init)
      if (status === 202) return
      if (status < 500 || performance.now() > end) throw new Error(`${path}: ${status}`)
      await delay(50)
    }
  }
  const json = (/** @type {unknown} */ body) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })

  /** @param {string} uid */
  async function kick (uid) {
    if (producer === undefined) await request(`/v1/users/${uid}/connections`, { method: 'DELETE' })
    else
      await producer.send({
        topic: topics?.downlink ?? '',
        messages: [{ key: uid, value: '{}', headers: { 'x-operator': 'kick', 'x-uid': uid } }]
      })
  }

  /** Revokes, and publishes a record directly after it. @param {string} uid @param {string} guid */
  async function revoke (uid, guid) {
    if (producer === undefined) {
      await request(`/v1/documents/${guid}/revoke`, json({ uid }))
      await request(`/v1/documents/${guid}/broadcast`, json({ behind: uid }))
    } else {
      const messages = [
        { key: guid, value: '{}', headers: { 'x-operator': 'revoke', 'x-uid': uid, 'x-guid': guid } },
        { key: guid, value: JSON.stringify({ behind: uid }), headers: { 'x-operator': 'broadcast', 'x-guid': guid } }
      ]
      await producer.send({ topic: topics?.downlink ?? '', messages })
    }
    sum.records++
  }

  /** @param {{ after: (stop: () => unknown) => void }} scope @param {string} uid @param {string} guid */
  async function member (scope, uid, guid) {
    const client = await connectClient(scope, cluster.url, {
      auth: { token: await signToken({ sub: uid, iat: Math.floor(Date.now() / 1000) - 5 }) }
    })
    const answer = await client.ask('doc:join', { guid })
    if (!answer.ok) throw new Error(`${uid} could not join: ${JSON.stringify(answer)}`)
    return client
  }

  /** @param {Awaited<ReturnType<typeof connectClient>>} client @param {string} event */
  const has = (client, event) => client.received.some((one) => one.event === event)

  /** One order for each user. */
  async function round () {
    /** @type {(() => unknown)[]} */
    const stops = []
    const scope = { after: (/** @type {() => unknown} */ stop) => { stops.push(stop) } }
    try {
      const guids = Array.from({ length: DOCUMENTS }, () => `document-${randomUUID()}`)
      const witnesses = await Promise.all(guids.map((guid) => member(scope, `witness-${randomUUID()}`, guid)))
      const users = await Promise.all(Array.from({ length: USERS }, async (_, i) => {
        const uid = `user-${randomUUID()}`
        const guid = guids[i % DOCUMENTS]
        return { uid, guid, kicked: random() < 0.5, at: random() * ROUND, client: await member(scope, uid, guid) }
      }))
      const cutting = new AbortController()
      const cuts = cut(cutting.signal)
      const published = Promise.all(users.map(async ({ uid, guid, kicked, at }) => {
        await delay(at)
        await (kicked ? kick(uid) : revoke(uid, guid))
      }))
      await delay(ROUND)
      cutting.abort()
      await cuts
      await published
      const open = () => users.filter(({ kicked, client }) => kicked ? client.connected : !has(client, 'doc:revoked'))
      const revoked = users.filter(({ kicked }) => !kicked)
      const unseen = () =>
        revoked.filter(
          ({ uid, guid }) => !witnesses[guids.indexOf(guid)].received.some(({ payload }) => payload?.behind === uid)
        )
      await waitFor(() => open().length + unseen().length === 0, { timeout: 10_000 }).catch(() => {})
      sum.orders += users.length
      sum.lost += open().length
      sum.missing += unseen().length
      sum.deliveries += revoked.length - unseen().length
      for (const { uid, guid, client } of revoked) {
        if (client.received.some(({ payload }) => payload?.behind === uid)) sum.leaked++
        if (!client.connected || open().some((one) => one.uid === uid)) continue
        if ((await client.ask('doc:join', { guid })).ok) sum.rejoined++
      }
      onRound(sum)
    } finally {
      for (const stop of stops) await stop()
    }
  }

  return { round, sum, orders: USERS }
}
