import { VERSION } from '../../../base/process/version.js'
import { noValues, readingOf } from './reading.js'

/** The metrics in a report. It is written every 5 s; collecting all of them was most of what an idle process did. */
const REPORTED = ['inkcast_connections', 'inkcast_documents', 'inkcast_kafka_lag', 'process_start_time_seconds']

/**
 * @param {ReturnType<typeof import('../status.js').createStatus>} own of this process
 * @param {string} host name of its machine
 * @returns {Promise<import('../../../watch/overview/contract.js').ProcessReport>}
 */
export async function describeProcess (own, host) {
  const status = await own.read(REPORTED)
  const { connections, documents, lag, startedAt } =
    readingOf([status], 0).processes.get(status.name) ?? { ...noValues(), startedAt: 0 }
  const { name, notReady } = status
  return { name, host, version: VERSION, startedAt, notReady, connections, documents, lag }
}
