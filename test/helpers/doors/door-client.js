import { waitFor } from '../wait.js'

/**
 * A client as the contract of connections sees it (test/process/connections), whatever its protocol. A protocol extends
 * DoorClient, puts what it receives into `received`, and is listed in doors.js.
 *
 * @typedef {object} Message a record, or an event of the gateway
 * @property {string} event
 * @property {any} payload
 * @property {any} [meta] of a record
 * @property {() => void} [acknowledge] of a record that asks for a receipt
 *
 * @typedef {object} Login
 * @property {string} [token]
 * @property {string} [client] stable id
 * @property {Record<string, object | null>} [documents]
 * @property {object} [user] position in the log of the user
 *
 *
 * @typedef {'positions' | 'requests' | 'senders' | 'refresh' | 'history' | 'members' | 'sendsOnlyToOpen' | 'backlogs' |
 *   'headers' | 'refusals'} Capability
 *
 * @typedef {object} Door
 * @property {string} name
 * @property {Partial<Record<Capability, string>>} cannot what its clients cannot do, with the reason
 * @property {(t: { after: (stop: () => unknown) => void }, urls: { url: string, mqttUrl: string }, login: Login) =>
 *   Promise<DoorClient>} connect rejects with an error that has the `code` of the refusal, if there is one
 * @property {(bytes: Buffer) => unknown} shown bytes in a value, as its clients get them
 * @property {(code: string | number) => RegExp} told what its clients get for the code of an error, or of the end
 */

/** @abstract */
export class DoorClient {
  /** Id of the connection; '': it does not learn it. */
  id = ''
  /** Positions at which it has joined. @type {Map<string, object>} */
  #joined = new Map()
  /** In order. @type {Message[]} */
  received = []
  /** Resolves with the code of the end when the connection has ended. @type {Promise<number | string>} */
  ended = new Promise(() => {})

  /** @abstract @param {string} _event @param {unknown} _payload @returns {Promise<any>} the answer */
  async ask (_event, _payload) { throw new Error('of a subclass') }

  /** What it logs in with to continue after its connection was lost: by default its positions. @returns {Login} */
  returns () {
    /** @type {Login} */
    const login = { documents: {} }
    for (const [guid, position] of this.#joined) Object.assign(login.documents ?? {}, { [guid]: { ...position } })
    for (const { event, payload, meta } of this.received) {
      const position = login.documents?.[meta?.guid]
      if (position != null && meta.offset !== undefined) Object.assign(position, { offset: meta.offset })
      if (event === 'gateway:user') login.user = payload.position
      if (meta?.user !== undefined) login.user = meta.user
    }
    return login
  }

  /** Closes in order: the client is not expected back. @abstract */
  close () { throw new Error('of a subclass') }

  /** The connection is lost. @abstract */
  cut () { throw new Error('of a subclass') }

  /** @abstract @param {boolean} _wanted whether it reads what arrives */
  reads (_wanted) { throw new Error('of a subclass') }

  /** Sends bytes of which the protocol can make nothing. @abstract @param {number} [_length] default: some */
  sendGarbage (_length) { throw new Error('of a subclass') }

  /** @param {string} guid @param {object} [more] */
  async join (guid, more) {
    const answer = await this.ask('doc:join', { guid, ...more })
    if (answer.ok) this.#joined.set(guid, answer.position)
    return answer
  }

  /** @param {string} guid */
  leave (guid) { return this.ask('doc:leave', { guid }) }

  /** @param {string} guid @param {unknown} data */
  send (guid, data) { return this.ask('doc:send', { guid, data }) }

  /** @param {string} guid @param {string} event @param {unknown} data */
  signal (guid, event, data) { return this.ask('doc:signal', { guid, event, data }) }

  /** @param {string} guid @param {object} [more] */
  history (guid, more) { return this.ask('doc:history', { guid, ...more }) }

  /** @param {string} guid */
  members (guid) { return this.ask('doc:members', { guid }) }

  /** @param {string} guid @returns {Message[]} records of a document that it has received */
  records (guid) { return this.received.filter(({ meta }) => meta?.guid === guid) }

  /** @param {string | RegExp} event @returns {Promise<Message>} the first such message, now or later */
  async event (event) {
    const pattern = typeof event === 'string' ? new RegExp(`^${event}$`) : event
    return /** @type {Message} */ (await waitFor(() => this.received.find((message) => pattern.test(message.event)), {
      message: () => `${event} among ${JSON.stringify(this.received).slice(0, 1000)}`
    }))
  }
}
