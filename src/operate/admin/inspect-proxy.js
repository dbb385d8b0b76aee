import http from 'node:http'
import path from 'node:path'
import { InkcastError } from '../../base/common/errors.js'
import { socketsIn } from './ask-processes.js'

/**
 * `GET /inspect` on ADMIN_PORT: passed to a process of this machine, because the launcher has no connection to Redis.
 */

/** Roles by preference: gateway workers have enough to do. */
const ROLES = ['embedded', 'api', 'ingest', 'gateway']
/** Watches open through this port. */
const MAX_OPEN = 20
/** Timeout for the first bytes, ms. */
const TIMEOUT = 5000

/** @param {{ directory: string }} options directory: with the private listeners of the processes */
export function createInspectProxy ({ directory }) {
  let open = 0

  /** @returns {Promise<string[]>} sockets of processes, the preferred ones first */
  async function sockets () {
    const files = await socketsIn(directory)
    return ROLES.flatMap((role) => files.filter((file) => file.startsWith(`${role}-`)))
      .map((file) => path.join(directory, file))
  }

  /**
   * @param {string} socketPath
   * @param {URLSearchParams} query
   * @param {http.ServerResponse} res
   * @returns {Promise<http.IncomingMessage | null>} null: the process cannot answer it
   */
  function ask (socketPath, query, res) {
    return new Promise((resolve) => {
      const req = http.get({ socketPath, path: `/inspect?${query}`, agent: false, timeout: TIMEOUT }, (answer) => {
        req.setTimeout(0)
        const { statusCode } = answer
        // 404: an earlier version, while processes are replaced
        if (statusCode !== 404) return resolve(answer)
        answer.resume()
        resolve(null)
      })
      req.on('timeout', () => req.destroy())
      req.on('error', () => resolve(null))
      res.on('close', () => req.destroy())
    })
  }

  /**
   * @param {http.ServerResponse} res
   * @param {URLSearchParams} query
   * @returns {Promise<void>} resolves when it has ended
   * @throws {InkcastError} rate_limited, unavailable
   */
  return async function inspect (res, query) {
    if (open >= MAX_OPEN) throw new InkcastError('rate_limited', 'as many watches are open as are allowed')
    open++
    try {
      for (const socketPath of await sockets()) {
        const answer = await ask(socketPath, query, res)
        if (res.destroyed) return
        if (answer === null) continue
        const { statusCode = 500, headers } = answer
        res.writeHead(statusCode, { 'content-type': headers['content-type'], 'cache-control': 'no-store' })
        res.flushHeaders()
        answer.pipe(res)
        await new Promise((resolve) => {
          // the process has ended: the reader asks again
          answer.on('close', () => resolve(res.end()))
          res.on('close', () => resolve(undefined))
        })
        return
      }
      throw new InkcastError('unavailable', 'no process of this machine answers')
    } finally {
      open--
    }
  }
}
