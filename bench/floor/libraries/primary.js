/**
 * The floor of the libraries: the minimum cost of a delivery in Node with Kafka, Redis and several workers. One process
 * reads Kafka (kafkajs) and passes values to Redis (ioredis); each worker gets them from there and writes ready frames.
 * There is no log, no order and no authentication; its clients are those of the floor in server.js.
 *
 * Settings: PORT, WORKERS, REDIS_URL, KAFKA_BROKERS.
 */
import cluster from 'node:cluster'
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { GATEWAY_FLAGS } from '../../../src/base/process/runtime-flags.js'

const fileOf = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url))

// each worker accepts connections itself
cluster.schedulingPolicy = cluster.SCHED_NONE
cluster.setupPrimary({ exec: fileOf('worker.js'), execArgv: [...process.execArgv, ...GATEWAY_FLAGS] })
for (let i = 0; i < Number(process.env.WORKERS); i++) cluster.fork()
fork(fileOf('ingest.js'))
