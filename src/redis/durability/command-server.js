import { identityIn } from '../identity/identity.js'

/**
 * The server behind a connection for commands, as one period in which it can have lost nothing: one TCP connection and
 * one generation (docs/decisions/0094-generations-of-redis.md). Read before a write, it shows afterwards whether
 * another connection still reaches the server that executed the write, with its data.
 *
 * @typedef {object} Period
 * @property {import('ioredis').Redis} client
 * @property {number} connection
 * @property {string} generation
 */

/** Per connection for commands: one `close` listener, and the generation since it was opened. */
const servers = /** @type {WeakMap<import('ioredis').Redis, CommandServer>} */ (new WeakMap())

class CommandServer {
  #connection = 0
  /** @type {Promise<Period> | undefined} */
  #period

  /** @param {import('ioredis').Redis} client */
  constructor (client) {
    this.client = client
    client.on('close', () => {
      this.#connection++
      this.#period = undefined
    })
  }

  period () {
    if (this.#period !== undefined) return this.#period
    const connection = this.#connection
    const asked = this.client.info('replication').then((info) => {
      const { generation } = identityIn(info)
      if (generation === undefined) throw new Error('redis: this is not a master, or it reports no replication id')
      return { client: this.client, connection, generation }
    })
    this.#period = asked
    asked.catch(() => { if (this.#period === asked) this.#period = undefined })
    return asked
  }

  /** @param {Period} period */
  isSame ({ connection }) { return connection === this.#connection }

  forget () { this.#period = undefined }
}

/** @param {import('ioredis').Redis} client */
function serverOf (client) {
  let server = servers.get(client)
  if (server === undefined) servers.set(client, server = new CommandServer(client))
  return server
}

/**
 * @param {import('ioredis').Redis} client for commands
 * @returns {Promise<Period>} rejects with the error of Redis; read once per connection
 */
export const periodOf = (client) => serverOf(client).period()

/** @param {Period} period @returns {boolean} whether its connection was open since then */
export const isConnected = (period) => serverOf(period.client).isSame(period)

/** To be called when the generation turned out to be another one. @param {import('ioredis').Redis} client */
export const forgetPeriod = (client) => serverOf(client).forget()
