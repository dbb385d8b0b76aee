import { BACKLOG } from '../process/listen.js'

/**
 * One limit of a machine: docs/kernel.md has the same list, and a test compares them.
 *
 * @typedef {'gateway' | 'balancer' | 'redis'} Use what runs on the machine
 *
 * @typedef {object} Machine what is known of it; absent: not known
 * @property {(file: string) => string} read a file of /proc or /sys, '' if it cannot be read
 * @property {number} [openFiles] soft limit of descriptors of a process
 * @property {number} [openFilesHard] the maximum that the process may raise it to
 *
 * @typedef {object} Wanted
 * @property {readonly Use[]} uses
 * @property {number} connections that this machine shall hold
 * @property {number} workers gateway workers, among which they are spread
 * @property {readonly number[]} ports that inkcast listens on
 *
 * @typedef {object} Finding
 * @property {string} name of the limit: a sysctl, or `nofile`
 * @property {string} now its value
 * @property {string} wanted the value that is needed
 * @property {string} why what happens otherwise
 * @property {string} set a shell command that sets it
 *
 * @typedef {object} Rule
 * @property {string} name
 * @property {readonly Use[]} uses for which it matters
 * @property {string} why what happens if it is not met
 * @property {(machine: Machine, wanted: Wanted) => Finding | undefined} check undefined: it is met, or not known
 */

/** Descriptors of a process; 64 and 5 % of them are not for connections (src/base/process/descriptors.js). */
const filesFor = (/** @type {number} */ connections) => Math.ceil((connections + 64) / 0.95)
/** Default of most kernels for fs.nr_open: a process can have no more. */
const MAX_FILES = 1_048_576
/** TCP buffers when a record goes to every client at once: one page (4 KB) for each connection. */
const PAGES_PER_CONNECTION = 1

/** @param {string} name @returns {string} its file below /proc/sys */
const fileOf = (name) => `/proc/sys/${name.replaceAll('.', '/')}`

/** @param {string} name @param {string} value */
const sysctl = (name, value) => `sysctl -w ${name}=${value.includes(' ') ? `'${value}'` : value}`

/**
 * A sysctl with a minimum.
 * @param {string} name
 * @param {Rule['uses']} uses
 * @param {number | ((wanted: Wanted) => number)} minimum
 * @param {string} why
 * @returns {Rule}
 */
const atLeast = (name, uses, minimum, why) => ({
  name,
  uses,
  why,
  check ({ read }, wanted) {
    const now = Number.parseInt(read(fileOf(name)), 10)
    const least = typeof minimum === 'number' ? minimum : minimum(wanted)
    if (Number.isNaN(now) || now >= least) return undefined
    return { name, now: String(now), wanted: `${least} or more`, why, set: sysctl(name, String(least)) }
  }
})

/**
 * A sysctl with one good value.
 * @param {string} name
 * @param {Rule['uses']} uses
 * @param {number} value
 * @param {string} why
 * @returns {Rule}
 */
const exactly = (name, uses, value, why) => ({
  name,
  uses,
  why,
  check ({ read }) {
    const now = Number.parseInt(read(fileOf(name)), 10)
    if (Number.isNaN(now) || now === value) return undefined
    return { name, now: String(now), wanted: String(value), why, set: sysctl(name, String(value)) }
  }
})

/** @type {Rule['uses']} */
const ACCEPTING = ['gateway', 'balancer']

/** @type {readonly Rule[]} the most important first */
export const RULES = [
  {
    name: 'nofile',
    uses: ACCEPTING,
    why: 'each connection needs a descriptor, in a balancer two: connections above the limit are refused',
    check ({ openFiles, openFilesHard = 0 }, { uses, connections, workers }) {
      const own = uses.includes('balancer') ? connections * 2 : Math.max(60_000, connections / workers)
      const least = Math.min(MAX_FILES, filesFor(own))
      if (openFiles === undefined || openFiles >= least) return undefined
      return {
        name: this.name,
        now: String(openFiles),
        wanted: `${least} or more`,
        why: this.why,
        set: openFilesHard >= least
          ? `ulimit -n ${least}`
          : `systemctl edit <service>: LimitNOFILE=${MAX_FILES}; in a shell: ulimit -Hn ${MAX_FILES} && ulimit -n ${least} (as root)`
      }
    }
  },
  atLeast('fs.nr_open', ACCEPTING, MAX_FILES, 'no process can have more descriptors than this'),
  atLeast(
    'fs.file-max', ACCEPTING, ({ uses, connections }) => connections * (uses.includes('balancer') ? 2 : 1) + 65_536,
    'descriptors of all processes: above it the whole machine can open no file'
  ),
  atLeast(
    'net.core.somaxconn', [...ACCEPTING, 'redis'], BACKLOG,
    'queue of connections that are not accepted yet: when all clients reconnect at once, connections above it are dropped and retried ' +
    'after a second'
  ),
  atLeast(
    'net.ipv4.tcp_max_syn_backlog', ACCEPTING, 8192,
    'queue of TCP handshakes in progress: above it the kernel answers with SYN cookies, without TCP options'
  ),
  exactly(
    'net.ipv4.tcp_syncookies', ACCEPTING, 1,
    '0: a SYN flood keeps clients out; 2: every connection loses TCP options'
  ),
  {
    name: 'net.ipv4.ip_local_port_range',
    uses: ['balancer'],
    why: 'each connection to a gateway takes a port of the balancer\'s address: the default range is full at 28,232',
    check ({ read }) {
      const [low, high] = read(fileOf(this.name)).trim().split(/\s+/).map(Number)
      if (high === undefined || high - low >= 60_000) return undefined
      return { name: this.name, now: `${low} ${high}`, wanted: '1024 65535', why: this.why, set: sysctl(this.name, '1024 65535') }
    }
  },
  {
    name: 'net.ipv4.ip_local_reserved_ports',
    uses: ACCEPTING,
    why: 'an outgoing connection may take the port of a listener, which then cannot start',
    check ({ read }, { ports }) {
      const [low, high] = read(fileOf('net.ipv4.ip_local_port_range')).trim().split(/\s+/).map(Number)
      if (high === undefined) return undefined
      const now = read(fileOf(this.name)).trim()
      const missing = ports.filter((port) => port >= low && port <= high && !contains(now, port))
      if (missing.length === 0) return undefined
      const all = [...(now === '' ? [] : [now]), ...missing].join(',')
      return { name: this.name, now: now || 'none', wanted: all, why: this.why, set: sysctl(this.name, all) }
    }
  },
  {
    name: 'net.ipv4.tcp_tw_reuse',
    uses: ['balancer'],
    why: 'the port of an ended connection is not free for a minute, instead of a second',
    check ({ read }) {
      const now = read(fileOf(this.name)).trim()
      if (now === '' || now === '1') return undefined
      return { name: this.name, now, wanted: '1', why: this.why, set: sysctl(this.name, '1') }
    }
  },
  {
    name: 'net.ipv4.tcp_mem',
    uses: ACCEPTING,
    why: 'memory of all TCP buffers (pages: low, pressure, maximum): above the maximum the kernel drops data and connections',
    check ({ read }, { connections }) {
      const pages = read(fileOf(this.name)).trim().split(/\s+/).map(Number)
      const least = connections * PAGES_PER_CONNECTION
      if (pages.length < 3 || pages[2] >= least) return undefined
      const all = [least / 2, least * 3 / 4, least].map(Math.ceil).join(' ')
      return { name: this.name, now: pages.join(' '), wanted: all, why: this.why, set: sysctl(this.name, all) }
    }
  },
  atLeast(
    'net.netfilter.nf_conntrack_max', ACCEPTING, ({ connections }) => Math.max(262_144, connections * 2),
    'a firewall tracks each connection: when its table is full, new ones are dropped with a line in the kernel log only'
  ),
  exactly(
    'vm.overcommit_memory', ['redis'], 1,
    'Redis cannot fork for a snapshot or a replica while most memory is in use'
  ),
  {
    name: 'transparent_hugepage',
    uses: ['redis'],
    why: 'after a fork Redis copies 2 MB for each changed byte, and answers late',
    check ({ read }) {
      const file = '/sys/kernel/mm/transparent_hugepage/enabled'
      if (!read(file).includes('[always]')) return undefined
      return { name: this.name, now: 'always', wanted: 'madvise', why: this.why, set: `echo madvise > ${file}` }
    }
  }
]

/** @param {string} list as `3000,3100-3227` @param {number} port */
function contains (list, port) {
  return list.split(',').some((part) => {
    const [low, high = low] = part.split('-').map(Number)
    return part !== '' && port >= low && port <= high
  })
}
