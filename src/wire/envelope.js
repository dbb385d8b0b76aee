/**
 * The form of a publication on the bus and in a document's log: the length of a JSON head (4 bytes), the head,
 * and the value's unchanged bytes. The head has short keys and omits defaults, because it is stored HISTORY_SIZE times
 * per document.
 *
 * @typedef {import('./publication.js').Publication} Publication
 */

/** Version of the layout; a worker of another version refuses it, so that a rolling upgrade is noticed. */
const VERSION = 1
/** Length of a receipt's id, which is the same on all workers. */
const RECEIPT_ID_BYTES = 9

/**
 * @param {Publication} publication
 * @param {number} ingestedAt ms since 1970: when it was accepted for the bus
 * @param {Pick<import('../base/common/random.js').Random, 'bytes'>} random
 * @param {string} [orderId] the publisher waits for the outcome of this order
 * @returns {Buffer}
 */
export function encodeEnvelope (publication, ingestedAt, random, orderId) {
  const {
    operator, guid, uid, sid, device, event, except, ephemeral, keep, receipt, traceId, traceparent, timestamp, source,
    from, ttl, contentType, value
  } = publication
  const head = JSON.stringify({
    v: VERSION,
    o: operator === 'broadcast' ? undefined : operator,
    g: guid,
    u: uid,
    s: sid,
    d: device,
    e: event,
    x: except.length > 0 ? except : undefined,
    p: ephemeral || undefined,
    k: keep || undefined,
    r: receipt ? random.bytes(RECEIPT_ID_BYTES).toString('base64url') : undefined,
    t: traceId,
    w: traceparent,
    m: timestamp,
    i: ingestedAt,
    b: source,
    f: from,
    l: ttl,
    n: orderId,
    c: contentType === 'application/json' ? undefined : contentType
  })
  const headLength = Buffer.byteLength(head)
  const envelope = Buffer.allocUnsafe(4 + headLength + value.length)
  envelope.writeUInt32BE(headLength, 0)
  envelope.write(head, 4, headLength, 'utf8')
  value.copy(envelope, 4 + headLength)
  return envelope
}

/**
 * @param {Buffer} envelope
 * @returns {{ publication: Publication, ingestedAt: number, receiptId: string | undefined, orderId: string |
 *   undefined }} receiptId: the same for all workers; undefined without a receipt. The value is a slice of the
 *   envelope, not a copy
 * @throws {Error} if it is not an envelope of this version
 */
export function decodeEnvelope (envelope) {
  const valueAt = 4 + envelope.readUInt32BE(0)
  if (valueAt > envelope.length) throw new Error('envelope: its head is longer than the whole')
  const head = JSON.parse(envelope.toString('utf8', 4, valueAt))
  if (head.v !== VERSION) throw new Error(`envelope: version ${head.v}, this worker reads ${VERSION}`)
  return {
    ingestedAt: head.i,
    receiptId: head.r,
    orderId: head.n,
    publication: {
      operator: head.o ?? 'broadcast',
      guid: head.g,
      uid: head.u,
      sid: head.s,
      ...(head.d !== undefined && { device: head.d }),
      event: head.e,
      except: head.x ?? [],
      ephemeral: head.p ?? false,
      ...(head.k && { keep: true }),
      receipt: head.r !== undefined,
      traceId: head.t,
      traceparent: head.w,
      timestamp: head.m,
      source: head.b,
      from: head.f,
      ttl: head.l,
      contentType: head.c ?? 'application/json',
      value: envelope.subarray(valueAt)
    }
  }
}
