import { readFileSync } from 'node:fs'
import os from 'node:os'
import { connectionsOfFull } from '../../admin/machine-weight.js'
import { canReusePort } from '../../launcher/reuse-port.js'
import { checkLimits, diagnose, readMachine } from '../../../base/machine/limits.js'
import { connectionsFor, descriptorsBeside } from '../../../base/process/descriptors.js'
import { findingsOf } from './finding.js'

/** Memory of a worker without connections, and of the other processes, MB. */
const WORKER_MB = 120

const { ok, warning, error } = findingsOf('machine')

/**
 * Limits of the machine and of this shell, which the processes that it starts inherit.
 * @param {import('../../../config/load.js').Config} config
 * @returns {import('./finding.js').Finding[]}
 */
export function checkMachine (config) {
  const { gateway: { workers = 1, listeners = [] }, limits, mode, production } = config
  const findings = production ? kernelLimits(config) : diagnose(readMachine(), config).map((problem) => {
    const [text, ...todo] = problem.split(': ')
    return warning(text, todo.join(': '))
  })
  const ownPorts = listeners.flatMap(({ port }) => port === undefined ? [] : [port])
  const possible = connectionsFor(descriptorsBeside(ownPorts.length))
  if (limits.maxConnections > possible) {
    findings.push(error(
      `MAX_CONNECTIONS=${limits.maxConnections}, but the limit of open files leaves a worker ${possible}`,
      'raise the limit (ulimit -n, LimitNOFILE=, nofile), or lower MAX_CONNECTIONS'
    ))
  }
  const cores = os.availableParallelism()
  const quota = cpuQuota()
  if (mode !== 'embedded' && workers > Math.min(cores, Math.ceil(quota))) {
    findings.push(warning(
      `WORKERS=${workers}, but there are ${Math.min(cores, quota)} cores${quota < cores ? ' (CPU limit of the container)' : ''}`,
      'set WORKERS to the number of cores: more workers share the same cores'
    ))
  }
  const memory = Math.min(os.totalmem(), process.constrainedMemory() || Infinity) / 1e6
  if (mode !== 'embedded' && (workers + 2) * WORKER_MB > memory) {
    findings.push(warning(
      `${Math.round(memory)} MB of memory for ${workers} workers, which need ${WORKER_MB} MB each without any connection`,
      'give the machine or container more memory, or lower WORKERS'
    ))
  }
  if (production && workers > 1 && !canReusePort()) {
    findings.push(warning(
      `workers share one socket with ${process.version} on ${process.platform}, from which few new connections a second are not taken ` +
      'evenly',
      'use Node.js 22.12 or later on Linux'
    ))
  }
  return findings.length > 0
    ? findings
    : [ok(`${cores} cores, ${Math.round(memory)} MB, ${possible} connections for each worker, Node.js ${process.version}`)]
}

/**
 * For as many connections as this machine is full with.
 * @param {import('../../../config/load.js').Config} config
 */
function kernelLimits ({ gateway, limits, api, admin }) {
  const { workers = 1, listeners = [] } = gateway
  return checkLimits(readMachine(), {
    connections: connectionsOfFull(workers, limits.maxConnections),
    workers,
    ports: [gateway.port, ...listeners.map(({ port }) => port), api.port, api.grpcPort, admin.port]
      .filter((port) => port !== undefined)
  }).map(({ name, now, wanted, why, set }) =>
    warning(`${name} is ${now}, ${wanted} is needed: ${why}`, `${set} (docs/kernel.md)`))
}

/** @returns {number} cores that the container may use; Infinity: no limit, or not known */
function cpuQuota () {
  try {
    const [quota, period] = readFileSync('/sys/fs/cgroup/cpu.max', 'utf8').trim().split(' ')
    return quota === 'max' ? Infinity : Number(quota) / Number(period)
  } catch {
    return Infinity
  }
}
