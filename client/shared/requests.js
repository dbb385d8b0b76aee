import { passing } from '../common/error.js'
import { randomId } from '../common/random-id.js'
import { tabOf, takeExcept } from './except.js'
import { fromTab, nameOf } from './senders.js'

/**
 * The requests of tabs: those about documents and tokens are answered here, the others by the gateway.
 *
 * @typedef {import('./hub-tab.js').HubTab} HubTab
 *
 * @typedef {object} Gateway the part of a connection that requests use
 * @property {{ id?: string | undefined }} socket
 * @property {() => Promise<boolean>} checkLine
 * @property {(event: string, argument: object) => void} tell
 * @property {(event: string, argument: object, timeout: number) => Promise<any>} request
 */

/** Timeout of the answer to a tab's request, ms: those of the tabs are shorter, except for a join. */
const TIMEOUT = 30_000
/** Answer to a new token with other rights. */
const OTHER_CLAIMS = { code: 'forbidden', message: 'tabs with other claims share no connection', retryable: false }

export class Requests {
  #hub

  /**
   * @param {object} hub
   * @param {() => Gateway | null} hub.connection
   * @param {(token: string) => Promise<string | undefined>} hub.nameFor the connection that a token is for
   * @param {string} hub.name of this connection
   * @param {import('./documents.js').SharedDocuments} hub.documents
   * @param {import('./senders.js').Senders} hub.senders
   * @param {import('./tokens.js').SharedTokens} hub.tokens
   * @param {(tabs: HubTab[], event: unknown[]) => void} hub.emitAll
   */
  constructor (hub) { this.#hub = hub }

  /**
   * @param {HubTab} tab @param {string} event @param {any} argument @param {boolean} isAsked
   * @returns {Promise<object | undefined>} the answer; undefined: none
   */
  async answer (tab, event, argument, isAsked) {
    const { documents, senders, tokens, name, nameFor } = this.#hub
    const connection = this.#hub.connection()
    if (connection === null) return undefined
    switch (event) {
      case 'gateway:check': return await connection.checkLine() ? { ok: true } : undefined
      case 'doc:join': return documents.join(tab, argument)
      case 'doc:leave': return documents.leave(tab, argument.guid)
      case 'doc:state': return documents.setState(tab, argument)
      case 'doc:send': return this.ask(event, { ...senders.mark(argument, tab), ...tabOf(tab) })
      case 'doc:signal': return this.#signal(connection, tab, argument, isAsked)
      case 'auth:refresh':
        // other rights are those of another connection: the tabs make it when the old token has expired
        if (await nameFor(argument.token) !== name) return { ok: false, error: OTHER_CLAIMS }
        if (tokens.renewed(argument.token)) return { ok: true }
    }
    const answer = await this.ask(event, argument)
    if (event === 'doc:history') for (const record of answer.records ?? []) {
      takeExcept(record.meta)
      record.meta = senders.metaFor(record.meta, tab)
    }
    return answer
  }

  /** @param {string} event @param {object} argument @returns {Promise<any>} the answer of the gateway */
  ask (event, argument) {
    const gone = () => Promise.reject(passing('disconnected', 'the connection was lost'))
    return (this.#hub.connection()?.request(event, argument, TIMEOUT) ?? gone()).catch(
      ({ code, message, retryable, retryInMs }) => ({ ok: false, error: { code, message, retryable, retryInMs } })
    )
  }

  /**
   * @param {Gateway} connection
   * @param {HubTab} tab @param {any} argument @param {boolean} isAsked
   * @returns {Promise<object>}
   */
  async #signal (connection, tab, argument, isAsked) {
    const { documents, emitAll } = this.#hub
    const answer = isAsked ? await this.ask('doc:signal', argument) : { ok: true }
    if (!isAsked) connection.tell('doc:signal', argument)
    const { guid, event, data } = argument
    const others = documents.tabsOf(guid).filter((other) => other !== tab)
    // eslint-disable-next-line no-restricted-syntax -- the time of day, as the gateway's
    const meta = { guid, traceId: randomId(), ts: Date.now(), from: connection.socket.id }
    if (answer.ok) emitAll(others, [event, data, fromTab(meta, nameOf(tab))])
    return answer
  }
}
