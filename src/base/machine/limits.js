import { readFileSync } from 'node:fs'
import { BACKLOG } from '../process/listen.js'
import { RULES } from './kernel-limits.js'

/**
 * What this machine limits, compared with what inkcast, a balancer or Redis needs. Used at the start of a process, by
 * `inkcast check`, and by src/base/machine/check.js. Linux only: elsewhere nothing is known, and nothing is reported.
 */

/** Connections for which a machine is checked by default. */
const CONNECTIONS = 100_000
/** @type {import('./kernel-limits.js').Wanted} */
const DEFAULTS = { uses: ['gateway'], connections: CONNECTIONS, workers: 1, ports: [3000, 3001, 9100] }

/** @param {string} file @returns {string} */
function readOrNothing (file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/**
 * @param {(file: string) => string} [read] default: of this machine
 * @returns {import('./kernel-limits.js').Machine}
 */
export function readMachine (read = readOrNothing) {
  const [, soft, hard] = /^Max open files\s+(\S+)\s+(\S+)/m.exec(read('/proc/self/limits')) ?? []
  const count = (/** @type {string | undefined} */ text) => text === 'unlimited' ? Infinity : Number(text)
  return soft === undefined ? { read } : { read, openFiles: count(soft), openFilesHard: count(hard) }
}

/**
 * @param {import('./kernel-limits.js').Machine} machine
 * @param {Partial<import('./kernel-limits.js').Wanted>} [wanted] default: a gateway machine for 100,000 connections
 * @returns {import('./kernel-limits.js').Finding[]} what is too low or wrong, the most important first
 */
export function checkLimits (machine, wanted = {}) {
  const all = { ...DEFAULTS, ...wanted }
  return RULES
    .filter(({ uses }) => uses.some((use) => all.uses.includes(use)))
    .flatMap((rule) => rule.check(machine, all) ?? [])
}

/** A connection is a descriptor; fewer than this and a worker is full before a core is. */
const OPEN_FILES = 65_536
/** Enough to look around in development. */
const OPEN_FILES_DEVELOPMENT = 4096

/**
 * The two limits that a process reports in its log at the start.
 * @param {import('./kernel-limits.js').Machine} machine
 * @param {{ production: boolean }} settings
 * @returns {string[]} what to change
 */
export function diagnose ({ read, openFiles = Infinity }, { production }) {
  const problems = []
  const files = production ? OPEN_FILES : OPEN_FILES_DEVELOPMENT
  if (openFiles < files)
    problems.push(
      `a process may open ${openFiles} files, and each connection is one: raise the limit (ulimit -n, LimitNOFILE=, nofile) to ${files} ` +
      'or more'
    )
  const backlog = Number(/^\d+/.exec(read('/proc/sys/net/core/somaxconn'))?.[0] ?? Infinity)
  if (production && backlog < BACKLOG)
    problems.push(
      `the kernel lets ${backlog} connections wait to be accepted: set net.core.somaxconn to ${BACKLOG} or more, or clients that come ` +
      'back all at once are refused'
    )
  return problems
}
