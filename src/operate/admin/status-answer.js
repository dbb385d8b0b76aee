import os from 'node:os'
import { VERSION } from '../../base/process/version.js'

/** The answer of `GET /status` (docs/status.md). */

/** @param {Awaited<ReturnType<ReturnType<typeof import('./figures/samples.js').createSamples>['read']>>} read */
export function statusAnswer ({ overview: { processes, reasons }, rows, partitions, listeners, samples }) {
  return {
    version: VERSION,
    host: os.hostname(),
    ready: reasons.length === 0,
    reasons,
    warnings: processes.flatMap(({ name, warnings = [] }) => warnings.map((warning) => `${name}: ${warning}`)),
    processes: rows,
    partitions,
    listeners,
    samples
  }
}
