/** A document that this connection has open or is joining. */
export class OpenDocument {
  /** False when the document was left or the connection closed while the join was in progress. */
  wanted = true
  joined = false
  /** Whether this connection has sent a message to it. */
  hasMessage = false
  /**
   * Position up to which records have been sent, while the document is joined from a position.
   * @type {import('../wire/position.js').Position | null}
   */
  sent = null
  /** Its membership in the document's presence. @type {import('../people/presence/membership.js').Membership | null} */
  presence = null
}
