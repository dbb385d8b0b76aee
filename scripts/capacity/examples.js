import { ASSUMED } from './assumed.js'
import { number, percent } from './format.js'
import { measured } from './measured.js'
import { memoryOf, plan } from './plan.js'
import { redisExample, redisMachines } from './redis.js'

/** Memory of the launcher, the api and ingest, GB. */
export const OTHERS_GB = (Object.values(ASSUMED.othersMB).reduce((sum, one) => sum + one) / 1000).toFixed(2)

/**
 * @param {number} perSecond deliveries per connection
 * @returns {string} the loss of the larger one of two machines, in figures
 */
export function failureExample (perSecond) {
  const connections = 100_000
  const { workers, machines, gatewayCores } = plan(connections, perSecond)
  const lost = Math.ceil(workers / machines)
  const left = workers - lost
  const spare = machines * lost
  return `${number(connections)} editors have ${workers} workers on ${machines} machines: ${lost} and ${left}. If the machine with ` +
    `${lost} workers fails, the other ${left} workers get ${number(connections / left)} clients each (${number(measured.onOneWorker)} ` +
    'were measured), ' +
    `and need ${percent(gatewayCores / left)} of a core each: they are overloaded. The memory of their machine grows from ` +
    `${memoryOf(left, connections * left / workers)} to ${memoryOf(left, connections)} GB. ` +
    `With ${machines + 1} machines of ${lost} workers each, one may fail: the other ${spare} workers get ${number(connections / spare)} ` +
    `clients each, and need ${percent(gatewayCores / spare)} of a core each.`
}

/**
 * @param {number} connections
 * @param {number} perSecond deliveries per connection
 * @returns {string[]} the steps from a number of clients to machines, one of which may fail
 */
export function workedExample (connections, perSecond) {
  const {
    workers, machines, deliveries, gatewayCores, byCpu, byConnections, records, ingestCores, redisWork, redisMasters
  } = plan(connections, perSecond)
  const each = Math.ceil(workers / machines)
  const most = connections / machines
  const memory = Number(memoryOf(each, most)) + Number(OTHERS_GB)
  const queues = each * 0.256
  // a third of it is for the operating system and churn
  const machineGB = Math.max(4, 2 ** Math.ceil(Math.log2(1.5 * (memory + queues))))
  const micro = (/** @type {number} */ figure) => Number(figure.toPrecision(3))
  return [
    `1. **Work of the CPU**: ${number(deliveries)} deliveries/s × ${micro(measured.delivery)} µs, and ${number(connections)} idle ` +
    `connections × ${micro(measured.idle)} µs per second ([measurements](#measurements)). Together these are ` +
    `${gatewayCores.toFixed(2)} cores of work.`,
    `2. **Workers for the CPU**: ${gatewayCores.toFixed(2)} ÷ ${ASSUMED.busy}, rounded up: ${byCpu}. Each core is half busy then.`,
    `3. **Workers for the connections**: ${number(connections)} ÷ ${number(measured.onOneWorker)}, rounded up: ${byConnections}.`,
    `4. **Workers**: the larger number, ${workers}. They run on ${machines} machines, ${each} on each.`,
    `5. **Spare**: one machine more, with as many workers. So there are ${machines + 1} machines with \`WORKERS=${each}\`. If one ` +
    `fails, the other ${machines * each} workers have ${number(connections / machines / each)} clients each, and their cores are ` +
    `${percent(gatewayCores / machines / each)} busy.`,
    `6. **Ports of the balancer**, after the failure of one machine: ${number(most)} clients on each of the others. ` +
    `${portsOf(connections, most, workers)}`,
    `7. **Cores of each machine**: ${each} for the workers. Add two for the launcher, the api, ingest and the operating system (ingest ` +
    `needs ${ingestCores.toFixed(2)} cores for the ${number(records)} records/s on all machines together). So take machines with ` +
    `${each + 2} cores.`,
    `8. **Memory of each machine**, after the failure of one: ${number(most)} connections × ` +
    `${(measured.memory + measured.kernel).toFixed(1)} KB and ${each} workers × ${ASSUMED.workerMB} MB are ${memoryOf(each, most)} GB. ` +
    `With launcher, api and ingest these are ${memory.toFixed(1)} GB, and with full queues of slow clients ` +
    `${(memory + queues).toFixed(1)} GB. ` +
    `The operating system and [churn](#memory) come on top: take machines with ${machineGB} GB.`,
    `9. **CPU of Redis**: one master would be ${percent(redisWork)} busy. ` +
    `${redisMasters === 1 ? 'So a single Redis with a core of its own is enough.' : `That is above ${percent(ASSUMED.busy)}, so the ` +
      `tables have a Redis Cluster of ${redisMasters} masters.`} ` +
      (redisMasters === 1 ? '' : 'Measure before you decide: with a single Redis ingest can restore documents from Kafka after a ' +
        'failover, with Redis Cluster it cannot ([restarts and failovers](operations/redis.md#restarts-and-failovers-of-redis)). ') +
        'The machines above do not include Redis.',
    `10. **[Memory of Redis](#memory-of-redis)**: ${redisExample(connections, records)}`,
    `11. **Machines of Redis**: ${redisMachines(connections, records, redisMasters)}`
  ]
}

/**
 * @param {number} connections
 * @param {number} most clients of a machine after the failure of another one
 * @param {number} workers
 * @returns {string} whether one address of a balancer is enough
 */
function portsOf (connections, most, workers) {
  const limit = `One address of a balancer opens at most about ${number(ASSUMED.ports)} connections to each gateway address`
  if (most <= ASSUMED.ports) return `${limit}, so one balancer with one address is enough.`
  const left = Math.ceil(connections / ASSUMED.ports)
  return `${limit}. So the balancer needs [${Math.ceil(most / ASSUMED.ports)} ` +
    `addresses](deployment.md#more-than-64000-clients-on-one-machine), or there are ${left + 1} machines with ` +
    `\`WORKERS=${Math.ceil(workers / left)}\` in place of the ${Math.ceil(connections / most) + 1} machines: after a failure each of ` +
    `the other ${left} has ${number(connections / left)} clients.`
}
