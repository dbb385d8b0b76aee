/**
 * The same task as inkcast's, written directly from the official guides, for comparison. This is the primary as in
 * https://socket.io/docs/v4/using-multiple-nodes/ ("Using Node.js cluster") and the README of @socket.io/sticky.
 *
 * Settings: PORT, WORKERS, REDIS_URL, AUTH_JWT_SECRET, JWT_KEY=string (default: a KeyObject); with KAFKA_BROKERS,
 * KAFKA_DOWNLINK_TOPIC and KAFKA_GROUP_ID also Kafka.
 */
import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { setupMaster } from '@socket.io/sticky'

const { PORT = '3000', WORKERS = String(availableParallelism()) } = process.env

const httpServer = createServer()
setupMaster(httpServer, { loadBalancingMethod: 'least-connection' })

// sticky passes the first bytes of a connection on as a Buffer, which JSON serialization would not preserve
cluster.setupPrimary({ exec: fileURLToPath(new URL('worker.js', import.meta.url)), serialization: 'advanced' })

for (let i = 0; i < Number(WORKERS); i++) cluster.fork()
cluster.on('exit', (worker) => {
  console.log(`Worker ${worker.process.pid} died`)
  cluster.fork()
})

httpServer.listen(Number(PORT))
