/**
 * Records published in one job, and the documents that each client joins. Both are rules rather than lists, so that
 * every process can compute its part.
 */

/**
 * @typedef {object} Job
 * @property {number} base number of the first document
 * @property {number} documents number of documents over which the records are distributed
 * @property {number} records total
 * @property {number} perSecond 0: all at once
 *
 * @typedef {object} Membership
 * @property {number} base number of the first document
 * @property {number} documents
 * @property {number} members of each document
 * @property {number} clients over which the members are distributed; a multiple of `members`
 */

/** @param {number} document number */
export const guidOf = (document) => `document-${document}`

/** @param {string} guid @returns {number} */
export const documentOf = (guid) => Number(guid.slice(guid.indexOf('-') + 1))

/** @param {Job} job @param {number} document @returns {number} records of this document */
export function recordsOf ({ base, documents, records }, document) {
  const place = document - base
  if (place < 0 || place >= documents) return 0
  return Math.floor(records / documents) + (place < records % documents ? 1 : 0)
}

/**
 * @param {Membership} membership
 * @param {number} client number
 * @returns {number[]} the client's documents
 */
export function documentsOf ({ base, documents, members, clients }, client) {
  if (client >= clients) return []
  const found = []
  for (let place = Math.floor(client / members); place < documents; place += clients / members) found.push(base + place)
  return found
}
