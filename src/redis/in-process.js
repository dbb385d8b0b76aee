import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { AbstractConnector } = require('ioredis')

/**
 * @param {() => import('node:stream').Duplex} connect opens a connection to the built-in store of this process
 * @returns {import('ioredis').RedisOptions} for a client whose connections, and those of its duplicates, are opened so
 */
export const inProcess = (connect) => ({
  Connector: class extends AbstractConnector {
    constructor () { super(0) }

    /** @returns {Promise<any>} ioredis's type is a socket; of that it uses what stream-pair.js adds to the stream */
    async connect () {
      this.stream = /** @type {any} */ (connect())
      return this.stream
    }

    disconnect () {
      this.connecting = false
      this.stream?.destroy()
    }
  }
})
