/**
 * Whether a run was whole: no delivery and no receipt is missing that should not be.
 *
 * @typedef {object} Facts
 * @property {number} opened connections
 * @property {{ documents: number, everyone: number, closed: number, surplus: number }} missing of clients at the end;
 *   surplus: records that no service published
 * @property {import('./client.js').Counts} counts
 * @property {Record<string, number>} failures of publications
 * @property {number} unconfirmed acknowledgements that the server has not counted
 * @property {number} stillThere silent clients that the server has not removed
 */

/**
 * @param {Facts} facts
 * @returns {string[]} what is wrong; empty: nothing
 */
export function problemsOf ({ opened, missing, counts, failures, unconfirmed, stillThere }) {
  const failed = Object.entries(failures).map(([reason, count]) => `${count} × ${reason}`).join(', ')
  return [
    opened === 0 && 'no connection was opened',
    missing.closed > 0 && `${missing.closed} clients are not connected at the end`,
    missing.everyone > 0 && `${missing.everyone} deliveries of records to everyone are missing`,
    missing.documents > 0 && `${missing.documents} deliveries of records of documents are missing`,
    missing.surplus > 0 && `${missing.surplus} deliveries are of records that were published once and are in a log twice`,
    counts.cut > 0 && `${counts.cut} deliveries of records to everyone were on their way when connections broke`,
    counts.holes > 0 && `${counts.holes} records of documents were skipped`,
    counts.doubled > 0 && `${counts.doubled} deliveries came twice`,
    counts.unasked > 0 && `${counts.unasked} deliveries lack the request for a receipt`,
    unconfirmed > 0 && `${unconfirmed} receipts are missing: the server has not counted these acknowledgements`,
    stillThere > 0 && `${stillThere} silent clients were not removed`,
    failed !== '' && `publications failed: ${failed}`
  ].filter((problem) => problem !== false)
}
