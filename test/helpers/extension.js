/**
 * An example of a user's extension: a separate Socket.IO server without clients that reaches the rooms of all gateways
 * over Redis. Runs on a host of hosts.js; each line of its input is a request, answered by a line of JSON.
 *
 * node extension.js <Redis URL>
 */
import { createInterface } from 'node:readline'
import { Server } from 'socket.io'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { createRoomAdapter } from '../../src/transport/socketio/adapter.js'
import { createLog } from '../../src/base/common/log.js'
import { createRedis } from '../../src/redis/client.js'

const redis = createRedis({
  urls: [process.argv[2]],
  name: 'extension',
  log: createLog({ level: 'silent', pretty: false, role: 'extension', slot: 0, clock: systemClock }),
  clock: systemClock,
  random: systemRandom
})
await redis.start()
const { publisher, subscriber } = redis.adapterClients()
/** @type {Promise<void>[]} */
const subscribed = []
const io = new Server({
  adapter: createRoomAdapter({
    publisher,
    // responses of other servers arrive on the adapter's channels; the adapter does not wait for these subscriptions
    subscriber: Object.assign(Object.create(subscriber), {
      ssubscribe: (/** @type {string} */ channel) => subscribed.push(subscriber.ssubscribe(channel))
    })
  }, 'inkcast:rooms', 'inkcast:')
})
await Promise.all(subscribed)

/** @type {Record<string, (room: string) => unknown>} */
const answers = {
  emit: (room) => io.to(room).emit('notice', { room }),
  count: async (room) => (await io.in(room).fetchSockets()).length
}
for await (const line of createInterface(process.stdin)) {
  const [question, room] = line.split(' ')
  console.log(JSON.stringify(await answers[question](room)))
}
