import { OutgoingMessage, validateHeaderName, validateHeaderValue } from 'node:http'
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
 * @param {string} name
 * @param {any} value several values of one name are a list
 * @returns {boolean} whether Node would send it
 */
export function isValidHeader (name, value) {
  try {
    validateHeaderName(name)
    for (const one of [value].flat()) validateHeaderValue(name, one)
    return true
  } catch {
    return false
  }
}

/**
 * @param {Record<string, any>} headers valid, by name; several values of one name are several lines
 * @returns {string} lines of a response
 */
export const headerLines = (headers) => Object.keys(headers)
  .flatMap((name) => [headers[name]].flat().map((value) => `${name}: ${value}\r\n`))
  .join('')
