import { CommandError } from './terminal.js'
import { request, streamLines } from './http.js'
import { reachable, settingsOf } from './settings.js'

/**
 * ADMIN_PORT of this machine, or the one of `--url`.
 *
 * @typedef {{ url?: string, token?: string } & import('./settings.js').GlobalOptions} AdminOptions
 */

/** @param {import('commander').Command} command @returns {import('commander').Command} */
export const withAdminOptions = (command) => command
  .option('--url <url>', 'URL of ADMIN_PORT; default: from ADMIN_HOST and ADMIN_PORT')
  .option('--token <token>', 'token for ADMIN_PORT; default: ADMIN_TOKEN')

/** @param {AdminOptions} options */
export function createAdmin (options) {
  const { admin } = settingsOf(options)
  if (options.url === undefined && admin.port === 0)
    throw new CommandError('ADMIN_PORT is 0, any free port: give its address with --url')
  const base = (options.url ?? `${admin.tls === undefined ? 'http' : 'https'}://${reachable(admin.host)}:${admin.port}`).replace(/\/$/, '')
  const what = 'ADMIN_PORT'
  const readToken = options.token ?? admin.token ?? admin.readToken
  return {
    /** @param {string} path @returns {Promise<any>} the JSON of the answer */
    async read (path) {
      return JSON.parse((await request(base + path, { what, token: readToken })).text)
    },

    /**
     * @param {string} path
     * @param {object} [body]
     * @param {'PUT' | 'POST' | 'DELETE'} [method]
     * @returns {Promise<any>} the JSON of the answer
     */
    async change (path, body, method = 'PUT') {
      const token = options.token ?? admin.token
      return JSON.parse((await request(base + path, { what, method, token, body: body && JSON.stringify(body) })).text)
    },

    /**
     * @param {string} path of a feed with a line of JSON per event
     * @param {(event: any) => void} onEvent
     * @param {AbortSignal} signal ends it
     * @returns {Promise<void>} resolves when it has ended
     */
    follow: (path, onEvent, signal) =>
      streamLines(base + path, { what, token: readToken, signal }, (line) => onEvent(JSON.parse(line)))
  }
}
