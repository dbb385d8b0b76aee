import http from 'node:http'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { HangWatch } from '../../launcher/hang-watch.js'

/**
 * Notices and kills hung processes of this machine where inkcast's launcher does not: under PM2, which only restarts
 * processes that have ended. They are found and asked by their private listeners. PM2's daemon accepts connections
 * itself, so no worker has to stand in.
 *
 * @typedef {import('../../launcher/hang-watch.js').Watched & { agent: http.Agent, answers: boolean }} Found
 *   answers: it has answered, so it has started
 */

/** Interval at which processes are asked, ms. */
const INTERVAL = 1000

/**
 * @param {object} dependencies
 * @param {string} dependencies.directory with the private listeners
 * @param {import('../../../observe/metrics/metrics.js').Metrics} dependencies.metrics
 * @param {import('../../../base/common/log.js').Log} dependencies.log
 * @param {Pick<import('../../../base/common/clock.js').Clock, 'monotonic' | 'every' | 'soon'>} dependencies.clock
 */
export function createHungProcesses ({ directory, metrics, log, clock }) {
  /** By the name of their socket. @type {Map<string, Found>} */
  const found = new Map()
  /** @type {import('../../../base/common/clock.js').Timer | undefined} */
  let timer

  const watch = new HangWatch({
    processes: () => [...found.values()],
    isReady: (name) => [...found.values()].some((process) => process.name === name && process.answers && !process.hung),
    interval: INTERVAL,
    metrics,
    log,
    clock
  })

  async function find () {
    const files = await readdir(directory).catch(() => /** @type {string[]} */ ([]))
    const sockets = new Set(files.filter((file) => file.endsWith('.sock')))
    for (const [file, { agent }] of found) {
      if (sockets.has(file)) continue
      agent.destroy()
      found.delete(file)
    }
    for (const file of sockets) {
      const [name, pid] = file.split('.')
      if (!found.has(file) && Number(pid) !== process.pid) found.set(file, create(file, name, Number(pid)))
    }
  }

  /** @param {string} file @param {string} name @param {number} pid @returns {Found} */
  function create (file, name, pid) {
    const socketPath = path.join(directory, file)
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    return {
      name, pid, agent,
      role: name.replace(/-\d+$/, ''),
      hung: false,
      answers: false,
      ask () {
        const request = http.get({ socketPath, path: '/alive', agent }, (res) => {
          // any answer says that its event loop runs, also that of an earlier version
          this.answers = true
          let body = ''
          res.setEncoding('utf8').on('data', (text) => { body += text })
          res.on('error', () => {})
          res.on('close', () => watch.answered(this, body === 'inspected'))
        })
        // it has ended or closed an idle connection, and is asked again if it is still there
        request.on('error', () => watch.answered(this))
      },
      kill () {
        try {
          process.kill(pid, 'SIGKILL')
        } catch {
          // it has ended
        }
      }
    }
  }

  return {
    async start () {
      await find()
      timer = clock.every(INTERVAL, find)
      watch.start()
    },
    stop () {
      timer?.stop()
      watch.stop()
      for (const { agent } of found.values()) agent.destroy()
      found.clear()
    }
  }
}
