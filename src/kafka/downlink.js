import { headersFromPublication } from '../wire/headers.js'
import { Producer } from './producer.js'
import { framed } from './value-framing.js'

/** Writes the api's publications to the downlink topic. */
export class KafkaDownlink extends Producer {
  #framing

  /**
   * @param {ConstructorParameters<typeof Producer>[0] & { framing?: import('./value-framing.js').ValueFraming }}
   *   dependencies framing: KAFKA_VALUE_FRAMING, default: none
   */
  constructor ({ framing = 'none', ...dependencies }) {
    super(dependencies)
    this.#framing = framing
  }

  /**
   * @param {import('../wire/publication.js').Publication} publication checked (`checkPublication`)
   * @returns {Promise<void>} resolves when all in-sync replicas have it. Rejects with `unavailable` if it was not
   *   written, with `timeout` if that is unknown (both within 10 s), with `value_too_large` if the topic refuses it
   */
  publish = (publication) => {
    const headers = headersFromPublication(publication)
    const value = this.#framing === 'none' ? publication.value : framed(publication)
    return this.send({ key: keyOf(publication), value, headers })
  }
}

/**
 * Records with the same key are in one partition and keep their order.
 * @param {import('../wire/publication.js').Publication} publication
 * @returns {string}
 */
const keyOf = ({ operator, guid, uid, sid }) => operator === 'everyone' ? '*' : guid ?? uid ?? sid ?? '*'
