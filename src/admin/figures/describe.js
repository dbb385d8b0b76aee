import os from 'node:os'
import { VERSION } from '../../process/version.js'
import { noValues, readingOf } from './reading.js'

/**
 * @param {import('../status.js').ProcessStatus} status of this process
 * @returns {import('../../overview/contract.js').ProcessReport}
 */
export function describeProcess (status) {
  const { connections, documents, lag, startedAt } =
    readingOf([status], 0).processes.get(status.name) ?? { ...noValues(), startedAt: 0 }
  const { name, notReady } = status
  return { name, host: os.hostname(), version: VERSION, startedAt, notReady, connections, documents, lag }
}
