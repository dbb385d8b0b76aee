/**
 * A connection that takes part in the presence of documents.
 *
 * @typedef {object} Participant
 * @property {string} id
 * @property {string} uid
 * @property {string | undefined} client
 * @property {{ name?: string }} identity
 * @property {(delivery: any, anyway?: boolean) => unknown} deliver anyway: even if its backlog is full
 */

/**
 * The document's presence on this worker (room.js).
 *
 * @typedef {object} MembershipRoom
 * @property {string} guid
 * @property {(membership: Membership, body: string) => void} setState
 * @property {(membership: Membership, op: '-' | '~') => void} leave
 * @property {(membership: Membership) => Promise<void>} written
 * @property {() => Promise<import('./contract.js').Page>} page
 * @property {() => Promise<import('./event-payload.js').Payload>} list
 * @property {(reason: 'gap') => void} lose
 */

/** One connection's part in one document. */
export class Membership {
  index = 0
  /** @param {MembershipRoom} room @param {Participant} participant @param {string} body */
  constructor (room, participant, body) {
    this.room = room
    /** Null: its connection is lost, and may be replaced within the grace. @type {Participant | null} */
    this.participant = participant
    this.id = participant.id
    this.uid = participant.uid
    this.client = participant.client ?? ''
    this.body = body
  }
}
