import { readFileSync } from 'node:fs'
import { last } from '../results.js'
import { ASSUMED } from './assumed.js'
import { short } from './format.js'
import { measured } from './measured.js'

/** @returns {number} the most that a worker without connections has needed in the last run, MB */
export const workerMemory = () =>
  Math.max(...last('workers').result.rows.map((/** @type {{ restWorkerMemory: number }} */ row) => row.restWorkerMemory))

/** Memory of TLS for an idle connection with TLS 1.3 and P-256, KB: docs/tls.md has the figures. */
const TLS_PAGE = readFileSync(new URL('../../docs/tls.md', import.meta.url), 'utf8')
const tlsOf = (/** @type {RegExp} */ found) => {
  const figure = found.exec(TLS_PAGE)?.[1]
  if (figure === undefined) throw new Error(`docs/tls.md has no ${found}`)
  return Number(figure)
}

/** @returns {string[][]} rows: memory of one connection by its parts, and of 100,000 with their workers */
export function memoryRows () {
  const connections = 100_000
  const workers = Math.ceil(connections / measured.onOneWorker)
  const mixed = 'worker: Node.js 20, TLS: Node.js 24'
  /** @type {[string, string, number][]} */
  const ways = [
    ['no TLS at the gateway', 'Node.js 20', 0],
    ['TLS, Node.js 20', 'Node.js 20', tlsOf(/TLS 1\.3, P-256 \|.*?(\d+) KB/)],
    ['TLS, Node.js 24', mixed, tlsOf(/(\d+) KB with Node\.js 24/)],
    ['TLS, Node.js 24, `TLS_GROUPS=X25519:P-256`', mixed, tlsOf(/(\d+) KB with Node\.js 24 and `TLS_GROUPS/)]
  ]
  return ways.map(([way, version, tls]) => {
    const { memory, kernel } = measured
    const [rest, churn] = [memory + kernel + tls, 2 * memory + kernel + tls]
    const gb = (/** @type {number} */ each) =>
      ((workers * ASSUMED.workerMB * 1000 + connections * each) / 1e6).toFixed(1)
    return [
      way, version, ...[memory, kernel].map(short), tls === 0 ? '–' : short(tls), ...[rest, churn].map(short),
      `${gb(rest)} GB`, `${gb(churn)} GB`
    ]
  })
}
