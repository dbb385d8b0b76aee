/**
 * The payloads of `doc:presence` and of the answers to joins.
 *
 * @typedef {import('./contract.js').Page} Page
 * @typedef {Pick<import('./contract.js').Diff, 'from' | 'version' | 'count' | 'joined' | 'changed'> & Rest} Payload
 * @typedef {{ guid: string, left: string[], members?: Page['members'], cursor?: string, countOnly?: true }} Rest
 */

/**
 * @param {string} guid
 * @param {import('./diff-merge.js').Merge} merge
 * @returns {Payload}
 */
export function diffPayload (guid, { from, version, count, kind, joined, changed, ended }) {
  return {
    guid,
    version,
    from,
    joined: [...joined.values()],
    left: ended,
    changed: [...changed.values()],
    count,
    ...(kind === 'count' ? { countOnly: /** @type {const} */ (true) } : {})
  }
}

/**
 * @param {string} guid
 * @param {Page} page
 * @returns {Payload}
 */
export function listPayload (guid, { version, count, countOnly, members, cursor }) {
  const nothing = { guid, version, from: 0, joined: [], left: [], changed: [], count }
  if (countOnly) return { ...nothing, countOnly: true }
  return { ...nothing, members, ...cursor === undefined ? {} : { cursor } }
}

/**
 * The answer to a join: the list as it was read, so that the next message fits. In a large document it may lack the
 * client itself, which is then in the next message (Room.written).
 * @param {Page} page
 */
export function joinAnswer ({ version, count, countOnly, members, cursor }) {
  if (countOnly) return { members: [], count, version, countOnly: true }
  return { members, count, version, ...cursor === undefined ? {} : { cursor } }
}
