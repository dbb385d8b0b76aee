import { withOwn } from './answer-bytes.js'
import { makeMember } from './member-view.js'

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
 * The answer to a join. The page may not include the client itself yet.
 * @param {Page} page
 * @param {{ id: string, uid: string, body: string }} own
 */
export function joinAnswer ({ version, count, countOnly, members, cursor }, own) {
  if (countOnly) return { members: [], count, version, countOnly: true }
  if (cursor !== undefined) return { members, count, version, cursor }
  if (members.some(({ uid }) => uid === own.uid)) return { members, count, version }
  return { members: withOwn(members, makeMember(own.uid, [[own.id, JSON.parse(own.body)]])), count: count + 1, version }
}
