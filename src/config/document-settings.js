import { z } from 'zod'
import { block, integer, list, milliseconds } from './setting.js'

const tiers = list().pipe(
  z.array(
    z
      .string()
      .regex(/^[^:]{1,64}(:\d{1,9}){3}$/, 'each must be name:min:max:timeout, ms')
      .transform((entry) => {
        const [name, ...figures] = entry.split(':')
        const [min, max, timeout] = figures.map(Number)
        return { name, min, max, timeout }
      })
  )
)

export const delivery = block('Delivery', {
  DELIVERY_LATENCY_BUDGET: {
    as: 'latencyBudget',
    type: milliseconds(0, 1000),
    default: '0',
    describe:
      'How long a record may wait for others that the same client gets, so that they leave in one write, ms. 0: only for those of the same turn of the event loop.'
  },
  COMPRESS_FROM: {
    as: 'compressFrom',
    type: integer(0, 64 * 2 ** 20),
    default: '0',
    describe:
      'Records whose frames have at least so many bytes are compressed, once for all clients that take it (permessage-deflate). 0: none are.'
  }
})

export const heartbeat = block('Heartbeat', {
  HEARTBEAT_MIN: {
    as: 'min',
    type: milliseconds(1000, 600_000),
    default: '5000',
    describe: 'Silence of a new connection before it is pinged, ms; grows with each two answers in time.'
  },
  HEARTBEAT_MAX: {
    as: 'max',
    type: milliseconds(1000, 600_000),
    default: '25000',
    describe:
      'Longest time between two pings, ms; clients are told this one. Longer means fewer packets, and that dead connections are found later.'
  },
  HEARTBEAT_TIMEOUT: {
    as: 'timeout',
    type: milliseconds(1000, 600_000),
    default: '20000',
    describe: 'How long a ping may stay unanswered, ms; clients are told this one as well.'
  },
  HEARTBEAT_TIERS: {
    as: 'tiers',
    type: tiers,
    default: '',
    describe:
      'Other figures for connections whose token has a `tier`, as `name:min:max:timeout`, comma separated: `editors:2000:10000:5000`. None may be larger than those that clients are told.'
  }
})

export const history = block('History', {
  HISTORY_SIZE: {
    as: 'size',
    type: integer(1, 1_000_000),
    default: '1000',
    describe: 'Records kept per document, for clients that come back.'
  },
  HISTORY_TTL: {
    as: 'ttl',
    type: integer(1, 30 * 86_400),
    default: '600',
    describe: 'How long the records of a document are kept after its last one, s.'
  }
})

export const presence = block('Presence', {
  PRESENCE_MAX_MEMBERS: {
    as: 'maxMembers',
    type: integer(0, 100_000),
    default: '500',
    describe:
      'Members of a document up to which each is told of the others; where there are more, they are told their number only. 0: always.'
  },
  PRESENCE_MAX_STATE_BYTES: {
    as: 'maxStateBytes',
    type: integer(2, 2 ** 20),
    default: '2048',
    describe: 'Largest presence state of a connection in a document, bytes of JSON.'
  },
  PRESENCE_GRACE: {
    as: 'grace',
    type: milliseconds(0, 600_000),
    default: '5000',
    describe:
      'How long a connection that was lost is still counted as present, and its user as online, so that who reconnects has neither left nor joined, ms; the same for all processes. A worker that stops waits as long for those who go elsewhere.'
  }
})
