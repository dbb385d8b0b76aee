/**
 * Reads all records of a stream's group `one`, without marking them as read.
 * @param {import('../../src/services/uplink/stream/contract.js').UplinkStream} stream
 */
export async function readAll (stream) {
  const records = []
  for (let part = 0; part < stream.parts; part++) {
    const batch = await stream.take(part, { group: 'one', holder: 'test' })
    records.push(...batch?.entries.map(({ record }) => record) ?? [])
  }
  return records.map(({ guid, event, ...rest }) => ({ ...rest, guid: String(guid), event: String(event) }))
}
