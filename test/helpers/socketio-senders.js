import { createAdapter, createShardedAdapter } from '@socket.io/redis-adapter'
import { Emitter } from '@socket.io/redis-emitter'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { Server } from 'socket.io'
import { waitFor } from './wait.js'

/**
 * Services without inkcast, with stock libraries as their guides set them up.
 *
 * @typedef {{ after: (stop: () => unknown) => void }} Scope of a test or a file
 * @typedef {'ioredis' | 'redis'} Library
 */

/** Of their connections to Redis. @type {string[]} */
const errors = []

/** @returns {string} the errors of their connections to Redis: they may be the reason why a message did not arrive */
export const troubleOfSenders = () => `errors of the senders: ${errors.join() || 'none'}`

/**
 * @param {Scope} scope
 * @param {string} url of Redis; several of Redis Cluster, comma separated
 * @param {Library} library
 * @returns {Promise<any>}
 */
async function connect (scope, url, library) {
  const urls = url.split(',')
  if (library === 'ioredis') {
    const client = urls.length === 1 ? new Redis(url) : new Cluster(urls, { shardedSubscribers: true })
    client.on('error', noteError)
    scope.after(() => client.disconnect())
    return client
  }
  // a cluster that pauses for a moment fails the first connect, and a client connects once
  return waitFor(async () => {
    const client = urls.length === 1
      ? createClient({ url })
      : createCluster({ rootNodes: urls.map((url) => ({ url })) })
    client.on('error', noteError)
    await client.connect()
    scope.after(() => client.destroy())
    return client
  }, { timeout: 20_000, message: troubleOfSenders })
}

/** @param {Error} error */
const noteError = (error) => { errors.push(error.message) }

/** @param {Scope} scope @param {string} url @param {Library} library @param {string} key */
export async function startEmitter (scope, url, library, key) {
  return new Emitter(await connect(scope, url, library), { key })
}

/**
 * A server without clients.
 * @param {Scope} scope
 * @param {string} url
 * @param {Library} library
 * @param {{ key: string } | { channelPrefix: string, subscriptionMode: 'static' | 'dynamic' }} settings of the classic
 *   adapter, or of the sharded one
 */
export async function startServer (scope, url, library, settings) {
  const [publisher, subscriber] = [await connect(scope, url, library), await connect(scope, url, library)]
  const io = new Server({
    adapter: 'key' in settings
      ? createAdapter(publisher, subscriber, settings)
      : createShardedAdapter(publisher, subscriber, settings)
  })
  io.of('/chat')
  return io
}
