/**
 * Who takes part: a connection.
 *
 * @typedef {object} Participant
 * @property {string} id
 * @property {string} uid
 * @property {string | undefined} client
 * @property {{ name?: string }} identity
 * @property {(delivery: any, anyway?: boolean) => unknown} deliver anyway: however much waits
 */

/** One connection's part in one document. */
export class Membership {
  index = 0
  /** @param {import('./room.js').Room} room @param {Participant} participant @param {string} body */
  constructor (room, participant, body) {
    this.room = room
    /** Null: it has lost its connection, and may come back. @type {Participant | null} */
    this.participant = participant
    this.id = participant.id
    this.uid = participant.uid
    this.client = participant.client ?? ''
    this.body = body
  }
}
