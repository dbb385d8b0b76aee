import { createHash, timingSafeEqual } from 'node:crypto'
import { InkcastError } from '../../base/common/errors.js'
import { isLocalRequest } from '../../base/process/local-request.js'

/**
 * Rights at ADMIN_PORT: `control` changes something (log level), `read` sees the status page and levels. `/metrics`,
 * `/live` and `/ready` need no right.
 *
 * | settings | from this machine | from elsewhere |
 * |---|---|---|
 * | no token | read; in development control | nothing |
 * | `ADMIN_READ_TOKEN` | without the token: as above; with it: read | with the token: read |
 * | `ADMIN_TOKEN` | with the token | with the token |
 *
 * A request is from this machine if its connection and its `Host` are on loopback, and no header of a proxy is in it
 * (base/process/local-request.js). A proxy on this machine may set none of these headers, so in production control
 * needs a
 * token.
 *
 * @typedef {'read' | 'control'} AdminRight
 */

/**
 * @param {Readonly<{ token?: string, readToken?: string }>} settings config.admin
 * @param {boolean} production
 * @returns {(req: import('node:http').IncomingMessage, right: AdminRight) => void} throws `unauthorized` or `forbidden`
 */
export function createAdminAccess ({ token, readToken }, production) {
  return (req, right) => {
    const shown = /^Bearer +(\S+) *$/i.exec(req.headers.authorization ?? '')?.[1]
    if (shown !== undefined && token !== undefined && isSame(shown, token)) return
    if (shown !== undefined && readToken !== undefined && isSame(shown, readToken)) {
      if (right === 'read') return
      throw new InkcastError('forbidden', 'ADMIN_READ_TOKEN reads only: changes need ADMIN_TOKEN')
    }
    if (shown !== undefined) throw new InkcastError('unauthorized', 'the token is not ADMIN_TOKEN')
    if (token !== undefined) throw new InkcastError('unauthorized', 'needs ADMIN_TOKEN (Authorization: Bearer <token>)')
    if (production && right === 'control')
      throw new InkcastError('forbidden', 'in production changes need ADMIN_TOKEN (Authorization: Bearer <token>)')
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
