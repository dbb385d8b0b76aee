import { createAdapter, createShardedAdapter } from '@socket.io/redis-adapter'
import { Emitter } from '@socket.io/redis-emitter'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { Server } from 'socket.io'

/**
 * Services without inkcast, with stock libraries as their guides set them up.
 *
 * @typedef {{ after: (stop: () => unknown) => void }} Scope of a test or a file
 * @typedef {'ioredis' | 'redis'} Library
 */

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
    scope.after(() => client.disconnect())
    return client
  }
  const client = urls.length === 1
    ? createClient({ url })
    : createCluster({ rootNodes: urls.map((url) => ({ url })) })
  client.on('error', () => {})
  await client.connect()
  scope.after(() => client.destroy())
  return client
}

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
