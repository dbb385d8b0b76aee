/**
 * The state of a client and its documents, for tools; a copy.
 * @param {import('../client.js').Client} client
 */
export function inspect (client) {
  const { url, id, state, reason, transport, connectionId } = client
  const documents = [...client._memberships.values()].map(inspectDocument)
  return { url, id, state, reason, transport, connectionId, documents }
}

/** @param {import('../document/membership.js').Membership} membership */
function inspectDocument ({ guid, status, position, members, pending, seen, signals, inboxes }) {
  return {
    guid,
    /** Of the connection: `idle`, `joining` or `joined`. */
    status,
    position: position && { ...position },
    members: members.count,
    /** Queued sends that the gateway has not accepted yet. */
    pending: pending().map(({ id, event }) => ({ id, event })),
    /** Whether the gateway refuses this client's signals: it may only read. */
    readOnly: signals.refused,
    ...seen,
    /** One for each call of `open`. */
    opened: [...inboxes].map(({ status, emitter, loops, held }) => ({
      status,
      listeners: [...emitter.events.values(), loops].reduce((total, { size }) => total + size, 0),
      held: held.events.length,
      /** Why records are held. */
      heldFor: [...held.reasons]
    }))
  }
}
