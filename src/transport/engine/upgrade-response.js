import { OutgoingMessage } from 'node:http'
import { endSocket, responseOf } from '../../base/process/socket-times.js'

/** Status of a response that gives none. */
const BAD_REQUEST = 400

/**
 * What middlewares of extensions get as the response to a request to upgrade: its headers are sent with the 101. A
 * middleware that ends it refuses the upgrade.
 */
export class UpgradeResponse extends OutgoingMessage {
  statusCode = BAD_REQUEST
  #netSocket
  #clock

  /**
   * @param {import('node:net').Socket} netSocket
   * @param {Pick<import('../../base/common/clock.js').Clock, 'timer'>} clock
   */
  constructor (netSocket, clock) {
    super()
    this.#netSocket = netSocket
    this.#clock = clock
  }

  /** @param {number} status */
  writeHead (status) {
    this.statusCode = status
    return this
  }

  /** @override */
  write () { return true }

  /** @override @returns {any} */
  end () {
    endSocket(this.#netSocket, responseOf(this.statusCode), this.#clock)
    return this
  }
}

/**
 * @param {Record<string, any>} headers by name; several values of one name are several lines
 * @returns {string} lines of a response
 * @throws if a name or a value is not valid
 */
export function headerLines (headers) {
  const checked = new OutgoingMessage()
  for (const name of Object.keys(headers)) checked.setHeader(name, headers[name])
  return Object.keys(headers)
    .flatMap((name) => [headers[name]].flat().map((value) => `${name}: ${value}\r\n`))
    .join('')
}
