/**
 * The uplink of a stream that the webhook alone reads, without the documents whose rule turns the webhook off: they
 * have no service, so messages are published to the document as they are; events and receipts have no receiver. A
 * stream that others read too has the records of all documents, and the webhook leaves out those that rules exclude.
 *
 * @param {object} dependencies
 * @param {import('../../log/publish/uplink.js').Uplink} dependencies.uplink
 * @param {import('../../log/publish/uplink.js').Uplink} dependencies.loopback
 * @param {import('../../documents/rules/rules.js').RulesOf} dependencies.rulesOf
 * @returns {import('../../log/publish/uplink.js').Uplink}
 */
export function createRuledUplink ({ uplink, loopback, rulesOf }) {
  return {
    start: () => uplink.start(),
    stop: () => uplink.stop(),
    async send (record) {
      const { guid, operator } = record
      if (guid === undefined || rulesOf(guid).uplink) return uplink.send(record)
      if (operator === 'message') return loopback.send(record)
    }
  }
}
