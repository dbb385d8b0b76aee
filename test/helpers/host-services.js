/**
 * Runs on a host of hosts.js: Redis and Kafka for other hosts. Prints their addresses as a line of JSON when they are
 * ready, and stops them on SIGTERM.
 *
 * node host-services.js <address of the host>
 */
import { startKafka } from '../services/kafka.js'
import { startRedis } from '../services/redis.js'

const [host] = process.argv.slice(2)
const [redis, kafka] = await Promise.all([
  startRedis({ args: ['--bind', host, '127.0.0.1', '--protected-mode', 'no'] }),
  startKafka({ host })
])
process.once('SIGTERM', async () => {
  await Promise.all([redis.stop(), kafka.stop()])
  process.exit(0)
})
// neither service keeps this process running
setInterval(() => {}, 60_000)
console.log(
  JSON.stringify({ redisPort: redis.port, redisUrl: `redis://${host}:${redis.port}`, kafkaBrokers: kafka.brokers })
)
