/**
 * Records of the uplink as CloudEvents 1.0 (https://github.com/cloudevents/spec), a batch in JSON. The attributes have
 * the names of the Kafka headers, without `x-` and hyphens, because names of attributes are letters and digits.
 *
 * @typedef {import('../uplink/stream/contract.js').StreamEntry} Entry
 */

export const BATCH_TYPE = 'application/cloudevents-batch+json; charset=utf-8'

/**
 * @param {readonly Entry[]} entries
 * @returns {Buffer} a JSON array. Values in JSON are passed on byte for byte: parsed and written again they would lose
 *   what JavaScript cannot hold
 */
export function encodeBatch (entries) {
  /** @type {Buffer[]} */
  const parts = []
  for (const [i, entry] of entries.entries()) {
    const { record } = entry
    const attributes = JSON.stringify(attributesOf(entry)).slice(0, -1)
    parts.push(Buffer.from(i === 0 ? '[' : ','))
    if (record.contentType === 'application/json') parts.push(Buffer.from(`${attributes},"data":`), record.value)
    else parts.push(Buffer.from(`${attributes},"data_base64":"${record.value.toString('base64')}"`))
    parts.push(Buffer.from('}'))
  }
  parts.push(Buffer.from(']'))
  return Buffer.concat(parts)
}

/** @param {Entry} entry */
function attributesOf ({ id, source, sequence, record }) {
  const {
    operator, uid, sid, device, listener, sender, guid, event, traceId, traceparent, timestamp, contentType, queue
  } = record
  return {
    specversion: '1.0',
    id,
    source,
    // so that it can be compared as text as well
    sequence: String(sequence).padStart(16, '0'),
    type: `inkcast.${operator}`,
    ...(guid !== undefined && { subject: guid }),
    time: new Date(timestamp).toISOString(),
    datacontenttype: contentType,
    operator,
    ...(guid !== undefined && { guid }),
    ...(uid !== undefined && { uid }),
    ...(sid !== undefined && { sid }),
    ...(device !== undefined && { device }),
    ...(listener !== undefined && { listener }),
    ...(sender !== undefined && { sender }),
    ...(event !== undefined && { event }),
    traceid: traceId,
    ...(traceparent !== undefined && { traceparent }),
    ...(queue !== undefined && { queue: queue.id, seq: queue.number })
  }
}
