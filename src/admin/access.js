import { createHash, timingSafeEqual } from 'node:crypto'
import { InkcastError } from '../common/errors.js'
import { isLocalRequest } from '../process/local-request.js'

/**
 * Rights at ADMIN_PORT: `control` changes something (log level), `read` sees the status page and levels. `/metrics`,
 * `/live` and `/ready` need no right.
 *
 * | settings | from this machine | from elsewhere |
 * |---|---|---|
 * | no token | read, control | nothing |
 * | `ADMIN_READ_TOKEN` | with the token: read; without it control and read | with the token: read |
 * | `ADMIN_TOKEN` | with the token | with the token |
 *
 * @typedef {'read' | 'control'} AdminRight
 */

/**
 * @param {Readonly<{ token?: string, readToken?: string }>} settings config.admin
 * @returns {(req: import('node:http').IncomingMessage, right: AdminRight) => void} throws `unauthorized` or `forbidden`
 */
export function createAdminAccess ({ token, readToken }) {
  return (req, right) => {
    const shown = /^Bearer +(\S+) *$/i.exec(req.headers.authorization ?? '')?.[1]
    if (shown !== undefined && token !== undefined && isSame(shown, token)) return
    if (shown !== undefined && readToken !== undefined && isSame(shown, readToken)) {
      if (right === 'read') return
      throw new InkcastError('forbidden', 'ADMIN_READ_TOKEN reads only: changes need ADMIN_TOKEN')
    }
    if (shown !== undefined) throw new InkcastError('unauthorized', 'the token is not ADMIN_TOKEN')
    if (token !== undefined) throw new InkcastError('unauthorized', 'needs ADMIN_TOKEN (Authorization: Bearer <token>)')
    if (!isLocalRequest(req)) {
      throw new InkcastError(
        'forbidden',
        'from this machine only: set ADMIN_TOKEN, and send it (Authorization: Bearer <token>)'
      )
    }
  }
}

/** @param {string} a @param {string} b @returns {boolean} without telling by its time how much of them is the same */
const isSame = (a, b) => timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())
