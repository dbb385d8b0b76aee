/**
 * The part of the table of metrics that is about presence and sessions.
 * @satisfies {Record<string, import('./metric-entry.js').MetricEntry>}
 */
export const PRESENCE_METRICS = Object.freeze({
  presence_members: {
    type: 'gauge',
    labels: [],
    help: 'Connections that take part in the presence of a document. A connection counts once per document; lost connections do not count.',
    worry: 'Growth without growth of connections.'
  },
  presence_documents: {
    type: 'gauge',
    labels: [],
    help: 'Documents with present members on a worker, summed over workers.',
    worry: 'Growth without growth of connections.'
  },
  presence_lapsing: {
    type: 'gauge',
    labels: [],
    help: 'Lost connections that still count as present, within `PRESENCE_GRACE`.',
    worry: 'Near the number of members: a network or a proxy has failed.'
  },
  presence_messages: {
    type: 'counter',
    labels: ['kind'],
    help: '`doc:presence` events written to connections: `diff`, `count` (too many members for a list), `list` (the whole list, after ' +
      'missed changes).',
    worry: '`list` that grows: see `presence_repairs`.'
  },
  presence_left: {
    type: 'counter',
    labels: ['result'],
    help: 'Lists of users who have left a document that clients asked for: `complete`, or `full` (100 users; users who left before them ' +
      'are dropped).',
    worry: 'Nothing.'
  },
  presence_repairs: {
    type: 'counter',
    labels: ['reason'],
    help: 'Lists of members that were read again because diffs were missed: detected by a `gap`, by the idle check (`silent`), or after ' +
      'an outage of Redis pub/sub (`interrupted`).',
    worry: 'Grows without an outage: Redis pub/sub loses messages to workers that do not read fast enough.'
  },
  presence_errors: {
    type: 'counter',
    labels: ['operation'],
    help: 'Failed operations on the presence store; they are retried.',
    worry: 'Any growth: Redis is unavailable or overloaded.'
  },
  sessions_pending: {
    type: 'gauge',
    labels: [],
    help: 'Users, members and documents with a change that is not in the session store yet, or not reported to the business services yet.',
    worry:
      'Growth: Redis or Kafka is unavailable or too slow. Nothing is lost: the backlog is bounded by the open sessions, and reported ' +
      'afterwards.'
  },
  session_errors: {
    type: 'counter',
    labels: [],
    help: 'Cycles in which sessions could not be written to the store; they are retried.',
    worry: 'Any growth: Redis is unavailable or overloaded.'
  }
})
