/**
 * The part of the table of metrics that is about sessions that are not admitted yet, or not admitted to a document.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const ADMISSION_METRICS = Object.freeze({
  sessions_not_admitted: {
    type: 'gauge',
    labels: [],
    help: 'Engine.IO sessions whose client is not admitted yet.',
    worry:
      'Near twice `MAX_HANDSHAKES_PER_SECOND` per worker: the oldest ones are closed for new ones, so clients that send CONNECT slowly ' +
      'are locked out.'
  },
  sessions_cut: {
    type: 'counter',
    labels: ['reason'],
    help: 'Engine.IO sessions closed by a limit. Before admission: `late` (after 10 s), `sessions` (too many sessions), `flood` (too ' +
      'much data). At any time: `bytes` (too many bytes of incomplete messages).',
    worry: 'Growth: an attack, or clients that are too slow to connect.'
  },
  unfinished_bytes: {
    type: 'gauge',
    labels: ['clients'],
    help: 'Buffered bytes of incomplete messages; for `new` clients, which are not admitted yet, also of request headers.',
    worry: '`admitted` near 64 MB per worker: the oldest unfinished message is dropped, with its connection.'
  },
  undecoded_packets: {
    type: 'counter',
    labels: ['kind'],
    help: 'Packets of clients that were refused because they cannot be decoded: `json` (not valid JSON, such as the NaN of Python, or ' +
      'no event), `msgpack`, `attachments` (more than 10, or missing), `placeholder` (an object that looks like an attachment), `depth` ' +
      'and `values` (above a limit), `connect` (the first packet is no CONNECT), `mqtt` (against that protocol), `protocol` ' +
      '(Socket.IO 2).',
    worry: 'Growth: a client sends values that its encoder cannot write. The client gets `bad_value`, and the log has one line a minute ' +
      'of each kind, with the user.'
  },
  closed_grants: {
    type: 'counter',
    labels: [],
    help: 'Documents not opened because the grant was revoked after its token was issued.',
    worry: 'Fast growth: clients retry without a new token, or tokens have no `iat`.'
  }
})
