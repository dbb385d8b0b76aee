import { markdownTable } from './markdown-table.js'
import { last } from './results.js'

/** The section of docs/scale.md that compares inkcast with the usual Node set-up; the README quotes it. */

/** @typedef {import('../bench/delivery/summary.js').SystemSummary} System */

/** @type {[string, string, number, (system: System) => number | undefined][]} figure, unit, digits, its value */
const FIGURES = [
  ['CPU per delivery, ten records of each document at once', 'µs', 1, ({ burst }) => burst?.cpuUs],
  ['CPU per delivery, one record of each document at once', 'µs', 1, ({ single }) => single?.cpuUs],
  ['CPU per delivery, 10,000 deliveries a second', 'µs', 1, ({ steady }) => steady?.cpuUs],
  ['latency p99, 10,000 deliveries a second', 'ms', 1, ({ steady }) => steady?.p99],
  ['CPU per handshake with a JWT and a join', 'µs', 0, ({ connect }) => connect?.cpuUs],
  ['CPU while idle, all connections open', 'ms/s', 0, ({ idle }) => idle?.cpuMs]
]

/** @returns {string[]} parts of the page */
export function besideSections () {
  const { result: delivery } = last('delivery')
  const { result: memory } = last('capacity')
  const { rounds, workers, connections } = delivery.scale
  const [own, baseline] = ofBoth(delivery.summary)
  const members = own.members ?? []
  const [ownMemory, baselineMemory] = ofBoth(memory.summary).map((system) => Number(system.memory?.workerKb))
  return [
    '## Beside the usual Node set-up',
    'The *usual set-up* does the same task as the official guides say: node:cluster, Socket.IO with the Redis adapter, kafkajs. Both ' +
    `ran in turn on one machine, ${rounds} rounds each: ${workers} workers, ${connections.toLocaleString('en-US')} connections, ` +
    `${delivery.machine.cores} cores (${delivery.machine.cpu}), Node ${delivery.versions.node}. Ratios below 1 are in favor of inkcast. ` +
    'Most figures vary by a tenth from day to day; a p99 varies more.',
    markdownTable(['figure', 'inkcast', 'usual set-up', 'ratio', 'date'], [
      ...FIGURES.map(([figure, unit, digits, valueOf]) =>
        row(figure, unit, digits, [valueOf(own), valueOf(baseline)], delivery)),
      ...members.map(({ count, line }, i) => row(
        `CPU per delivery, one record at a time, ${count.toLocaleString('en-US')} member${count === 1 ? '' : 's'}`, 'µs', 1,
        [line.cpuUs, baseline.members?.[i].line.cpuUs], delivery
      )),
      row(
        `memory of an idle connection, ${memory.scale.memoryConnections.toLocaleString('en-US')} on one worker`, 'KB', 1,
        [ownMemory, baselineMemory], memory
      )
    ]),
    'inkcast also checks, numbers and keeps each record, and loses none when a process dies; the usual set-up does not.'
  ]
}

/** @param {System[]} summary @returns {[System, System]} inkcast, and what the guides say */
function ofBoth (summary) {
  const [own, baseline] = ['inkcast', 'baseline'].map((name) => summary.find(({ system }) => system === name))
  if (own === undefined || baseline === undefined) throw new Error('the run has no baseline')
  return [own, baseline]
}

/**
 * @param {string} figure
 * @param {string} unit
 * @param {number} digits
 * @param {[number | undefined, number | undefined]} values of both systems
 * @param {{ date: string }} run
 */
function row (figure, unit, digits, [own = NaN, baseline = NaN], { date }) {
  const print = (/** @type {number} */ value) => `${value.toFixed(digits)} ${unit}`
  return [figure, print(own), print(baseline), (own / baseline).toFixed(2), date.slice(0, 10)]
}
