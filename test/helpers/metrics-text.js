import { waitFor } from './wait.js'

/**
 * The sum over the series of a metric.
 * @param {string} text output of /metrics
 * @param {string} name
 * @param {string} [label] filter, as in `result="forwarded"`
 */
export function sum (text, name, label = '') {
  return text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

/** @param {string} url @returns {Promise<Response>} fetch can wait forever when its connection closes before use */
export const read = (url) => fetch(url, { signal: AbortSignal.timeout(15_000) })

/**
 * The merged metrics of an inkcast on one machine, in which no process is missing: one that pauses for 2 s gives no
 * gauges, and its counters are those of the look before. Each process has one connection for commands to a single
 * Redis.
 *
 * @param {string} adminUrl
 * @returns {Promise<string>}
 */
export async function wholeMetrics (adminUrl) {
  let [text, answered, all] = ['', 0, 0]
  await waitFor(async () => {
    const { processes } = /** @type {any} */ (await (await read(`${adminUrl}/ready`)).json())
    all = processes.filter((/** @type {any} */ { name }) => !/^(launcher|store)\b/.test(name)).length
    text = await (await read(`${adminUrl}/metrics`)).text()
    answered = sum(text, 'inkcast_redis_connections', 'connection="commands"')
    return answered === all
  }, { timeout: 20_000, message: () => `metrics of ${all} processes, there are those of ${answered}` })
  return text
}
