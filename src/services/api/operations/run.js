/**
 * Runs an operation for a caller: every door calls it, so that a right is checked in one place.
 *
 * A publication is checked where it is published, so that each item of a batch or a stream is; other operations are
 * checked here.
 *
 * @param {import('./operation.js').Operation} operation
 * @param {Omit<import('./operation.js').Call, 'caller' | 'admit' | 'refused' | 'decoding'> &
 *   { maxRecordBytes: number }} call `publish` for any caller
 * @param {object} who
 * @param {import('../callers/callers.js').Callers} who.callers
 * @param {import('../callers/caller.js').Caller} who.caller
 * @returns {Promise<object | Buffer>} rejects with forbidden, rate_limited, unauthorized or token_expired, or with what
 *   the operation rejects with
 */
export async function runOperation (operation, call, { callers, caller }) {
  const publishes = operation.publishes ?? operation.answer === undefined
  if (!publishes) {
    const { guid, uid, sid } = call.params
    const { prefix } = /** @type {{ prefix?: string }} */ (call.query ?? {})
    callers.admit(caller, { operation: operation.operation, guid, uid, sid, prefix })
  }
  return operation.handle({
    ...call,
    caller: caller.name,
    admit: (publication) => callers.admitPublication(caller, publication, call.maxRecordBytes),
    refused: (count) => callers.rates.refused(caller.name, count),
    decoding: (bytes, decode) => callers.rates.decoding(caller.name, bytes, decode),
    publish: callers.publishFor(caller, call.publish)
  })
}
