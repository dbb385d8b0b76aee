import { headersOf } from '../../kafka/record.js'
import { HEADER, headerText, isTimestamp } from '../../wire/headers.js'

/**
 * Reads what kafka-uplink.js has written.
 * @param {import('../../kafka/contract.js').KafkaRecord} message
 * @returns {import('../../log/publish/uplink.js').UplinkRecord | null} null: it is none
 */
export function recordFromMessage (message) {
  const { value, timestamp } = message
  const headers = headersOf(message)
  /** @param {string} name */
  const get = (name) => headerText(headers, name)
  try {
    /** @typedef {import('../../log/publish/uplink.js').UplinkRecord} UplinkRecord */
    const operator = /** @type {UplinkRecord['operator'] | undefined} */ (get(HEADER.operator))
    const traceId = get(HEADER.traceId)
    if (operator === undefined || traceId === undefined || value === null) return null
    const [sender, traceparent] = [get(HEADER.sender), get(HEADER.traceparent)]
    const [device, listener] = [get(HEADER.device), get(HEADER.listener)]
    const [queue, number] = [get(HEADER.queue), Number(get(HEADER.number))]
    // another program may have written them
    const time = [get(HEADER.timestamp), String(timestamp)].find((text) => text !== undefined && isTimestamp(text))
    return {
      operator,
      uid: get(HEADER.uid),
      sid: get(HEADER.sid),
      ...(device !== undefined && { device }),
      ...(listener !== undefined && { listener }),
      ...(sender !== undefined && { sender }),
      guid: get(HEADER.guid),
      event: get(HEADER.event),
      traceId,
      ...(traceparent !== undefined && { traceparent }),
      timestamp: Number(time ?? 0),
      contentType: get(HEADER.contentType) === 'application/msgpack' ? 'application/msgpack' : 'application/json',
      value,
      ...(queue !== undefined && Number.isSafeInteger(number) && { queue: { id: queue, number } })
    }
  } catch {
    return null
  }
}
