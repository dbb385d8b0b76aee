import { InkcastError } from '../base/common/errors.js'
import { findToken, namesPage } from '../people/auth/credentials.js'

/**
 * Tells which user a handshake is of: by a JWT, wherever the client has it, or else by the application.
 *
 * @typedef {import('socket.io').Socket} Socket
 * @typedef {import('../people/auth/identity.js').Identity} Identity
 *
 * @typedef {import('../people/auth/authenticator.js').Authenticator} Authenticator
 * @typedef {import('../people/auth/credentials.js').Asked} Asked
 *
 * @typedef {object} ConnectService the application at AUTH_CONNECT_URL (services/connect)
 * @property {(asked: Asked, isWanted: () => boolean) => Identity | Promise<Identity>} ask isWanted: the client is there
 * @property {(identity: Identity, kickedAt: number) => boolean} endedBy see Login
 */
export class Login {
  #authenticator
  #connect
  #cookie
  #addressOf
  /** Whether tokens outside `auth` count: a gateway that cannot check any ignores those that are for a proxy. */
  #reads

  /**
   * @param {object} dependencies
   * @param {Authenticator} dependencies.authenticator
   * @param {ConnectService} [dependencies.connect] default: only tokens count
   * @param {string} [dependencies.cookie] AUTH_COOKIE
   * @param {(peer: string | undefined, forwardedFor: string | undefined) => string} dependencies.addressOf
   */
  constructor ({ authenticator, connect, cookie, addressOf }) {
    this.#authenticator = authenticator
    this.#connect = connect
    this.#cookie = cookie
    this.#addressOf = addressOf
    this.#reads = authenticator.hasKey || connect !== undefined
  }

  /**
   * Synchronous for most tokens, and for answers of the application that are known.
   *
   * The headers are those of the request that opened the session: later requests of the session, such as its upgrade,
   * may have other cookies, and change nothing.
   *
   * @param {Pick<Socket, 'conn' | 'handshake'>} socket
   * @param {string | null} [token] of `auth`
   * @returns {Identity | Promise<Identity>}
   * @throws {InkcastError} (or rejects with) what Authenticator and ConnectService have; origin_refused
   */
  identify (socket, token) {
    // nothing else is needed of most clients
    if (token != null && this.#connect === undefined) return this.#authenticator.authenticate(token)
    const { headers, query, auth } = socket.handshake
    const found = this.#reads ? findToken(token, { headers, query }, this.#cookie) : undefined
    if (found?.from === 'cookie' && !namesPage(headers))
      throw new InkcastError('origin_refused', 'a client that is logged in by a cookie must send an Origin header')
    return this.#either(found?.token, () => {
      const { conn } = socket
      const address = this.#addressOf(conn.remoteAddress, headers['x-forwarded-for']?.toString())
      return this.#ask(conn, { headers, address, auth: found?.from === 'query' ? { ...auth, token: found.token } : auth })
    })
  }

  /**
   * A later token of a connection. The gateway has forgotten the headers of the handshake by then.
   * @param {Pick<Socket, 'conn'>} connection
   * @param {string} token
   * @returns {Identity | Promise<Identity>}
   * @throws {InkcastError} (or rejects with) as `identify`
   */
  refresh ({ conn }, token) {
    return this.#either(token, () => this.#ask(conn, { headers: {}, address: '', auth: { token } }))
  }

  /**
   * Whether an identity is an answer of the application to a question from before a kick of the user. A JWT stays
   * valid: a kick says nothing about it.
   * @param {Identity} identity
   * @param {number} kickedAt time of the last kick or end of a ban by the clock of Redis, ms since 1970; 0: never
   * @returns {boolean}
   */
  endedBy (identity, kickedAt) {
    return kickedAt > 0 && this.#connect !== undefined && this.#connect.endedBy(identity, kickedAt)
  }

  /**
   * @param {string | null | undefined} token
   * @param {() => Identity | Promise<Identity>} ask
   * @returns {Identity | Promise<Identity>}
   */
  #either (token, ask) {
    if (this.#connect === undefined) return this.#authenticator.authenticate(token)
    if (token == null || !this.#authenticator.hasKey) return ask()
    try {
      const identity = this.#authenticator.authenticate(token)
      return identity instanceof Promise ? identity.catch((error) => orAsk(error, ask)) : identity
    } catch (error) {
      return orAsk(error, ask)
    }
  }

  /** @param {Socket['conn']} conn @param {Asked} asked @returns {Identity | Promise<Identity>} */
  #ask (conn, asked) {
    return /** @type {ConnectService} */ (this.#connect).ask(asked, () => conn.readyState === 'open')
  }
}

/**
 * @param {unknown} error of the authenticator
 * @param {() => Identity | Promise<Identity>} ask
 * @returns {Identity | Promise<Identity>}
 */
function orAsk (error, ask) {
  // a token of the application's own; one that is only too old is not asked about: the client has to renew it
  if (error instanceof InkcastError && error.code === 'unauthorized') return ask()
  throw error
}
