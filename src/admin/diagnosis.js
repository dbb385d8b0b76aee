import { readFileSync } from 'node:fs'
import { BACKLOG } from '../process/listen.js'

/**
 * Limits of this machine that are lower than the gateway's own. Logged once, at the start.
 *
 * @typedef {object} MachineFacts undefined: not known on this system
 * @property {number} [openFiles] soft limit of file descriptors per process
 * @property {number} [backlog] maximum queue of connections that are not accepted yet
 */

/** A connection is a descriptor; fewer than this and a worker is full before a core is. */
const OPEN_FILES = 65_536
/** Enough to look around in development. */
const OPEN_FILES_DEVELOPMENT = 4096

/** @returns {MachineFacts} of this process; Linux only */
export function readMachine () {
  const openFiles = /^Max open files\s+(\d+)/m.exec(read('/proc/self/limits'))?.[1]
  const backlog = /^\d+/.exec(read('/proc/sys/net/core/somaxconn'))?.[0]
  return { ...(openFiles ? { openFiles: Number(openFiles) } : {}), ...(backlog ? { backlog: Number(backlog) } : {}) }
}

/** @param {string} file */
function read (file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/**
 * @param {MachineFacts} facts
 * @param {{ production: boolean }} settings
 * @returns {string[]} what to change
 */
export function diagnose ({ openFiles = Infinity, backlog = Infinity }, { production }) {
  const problems = []
  const wanted = production ? OPEN_FILES : OPEN_FILES_DEVELOPMENT
  if (openFiles < wanted)
    problems.push(
      `a process may open ${openFiles} files, and each connection is one: raise the limit (ulimit -n, LimitNOFILE=, nofile) to ${wanted} or more`
    )
  if (production && backlog < BACKLOG)
    problems.push(
      `the kernel lets ${backlog} connections wait to be accepted: set net.core.somaxconn to ${BACKLOG} or more, or clients that come back all at once are refused`
    )
  return problems
}
