import { createKeys } from '../../src/redis/keys.js'
import { NUMBERS, QUEUES, UIDS, UPLINK } from './world.js'

const {
  clientSession, documentHolders, nodeMarker, orderReport, receiptAnswer, receiptParts, reports: REPORTS,
  requestState, uplinkQueueMarks,
  tenants: TENANTS, userDevice, userHolders, userOrdered, userOrders, userSeen, userWorkers, workerChannel,
  workerOrders, workers: WORKERS
} = createKeys()

/** @typedef {import('./scripts-of-documents.js').Calls} Calls */
/** @typedef {import('./draw.js').Draw} Draw */

const SLOTS = ['s1', 's2', 's3']
const TOKENS = ['t1', 't2', 't3']
const NAMES = ['rdoc', 'bdoc', 'kada', 'r*']
const ORDERS = ['o1', 'o2', 'o3']
const GROUPS = ['one', 'two']
const JSON_VALUES = ['1', '-2.5e3', 'null', 'true', '[]', '[{"a":"\\u00e9\\n"}]']
const HOLDERS = ['1.100', '2.200', '3.300']

/** @param {Draw} draw */
const incarnation = (draw) => `${draw.pick(NUMBERS)}.${draw.int(1, 3)}`
/** @param {Draw} draw */
const owner = (draw) => `{"slot":"${draw.pick(SLOTS)}","token":"${draw.pick(TOKENS)}","n":${draw.pick(JSON_VALUES)}}`

/** @type {Calls} */
export const WORKER_CALLS = {
  claim: (draw) => ({
    keys: [
      WORKERS.expiry, WORKERS.owners, WORKERS.slots, WORKERS.incarnations, WORKERS.ending, WORKERS.ended,
      WORKERS.watched, WORKERS.settling
    ],
    args: [
      draw.pick(SLOTS), owner(draw), draw.pick(['1000', '5000']), draw.pick(['1', '2', '4']),
      draw.pick(['', ...TOKENS]), draw.pick(['1000', '10000'])
    ]
  }),
  renew: (draw, { generation }) => ({
    keys: [
      WORKERS.expiry, WORKERS.owners, WORKERS.secret, WORKERS.incarnations, WORKERS.ending, WORKERS.settling,
      WORKERS.registry, WORKERS.watched, WORKERS.doubted, WORKERS.ended
    ],
    args: [
      draw.pick(NUMBERS), draw.pick(TOKENS), draw.pick(['0', '1000', '5000', '5000']), owner(draw),
      draw.pick(['sec1', 'sec2']), draw.pick(['1', '2', '1700000000000']), draw.pick(['0', '1', '?']),
      draw.pick(['', 'name', `name ${generation}`])
    ]
  }),
  watch: (draw, { ms }) => ({
    keys: [
      WORKERS.expiry, WORKERS.incarnations, WORKERS.ending, WORKERS.ended, WORKERS.unclean, WORKERS.watched,
      WORKERS.settling
    ],
    args: [
      draw.pick(['', '0', String(ms - draw.int(0, 3000))]), draw.pick(['1000', '5000']),
      draw.pick(['2000', '100000']), draw.pick(['100', '6000']), draw.pick(['500', '5000']), draw.pick(['0', '1', '2']),
      draw.pick(['100', '60000']), draw.chance(0.7) ? '' : incarnation(draw), draw.pick(['100', '1000'])
    ]
  }),
  numbers: () => ({ keys: [WORKERS.expiry, WORKERS.watched], args: [] }),
  owner: (draw) => ({ keys: [WORKERS.expiry, WORKERS.owners, WORKERS.watched], args: [draw.pick(NUMBERS)] }),
  slot: (draw) => ({ keys: [WORKERS.owners, WORKERS.slots], args: [draw.pick(SLOTS)] }),
  registry: (draw, { generation }) => ({
    keys: [WORKERS.registry, WORKERS.incarnations, WORKERS.settling, WORKERS.doubted], args: [draw.pick(['', 'name', `name ${generation}`])]
  }),
  registered: (draw) => ({
    keys: [nodeMarker('aaaa', draw.pick(HOLDERS))], args: [draw.pick(['', '1']), draw.pick(['', '1']), draw.pick(['1', '60'])]
  }),
  whole: (draw) => ({ keys: draw.list(1, 2, () => nodeMarker('aaaa', draw.pick(HOLDERS))), args: [] }),
  ordered: (draw, { ms }) => ({
    keys: [userOrdered(draw.pick(UIDS))], args: [String(ms + draw.int(-5000, 5000)), draw.pick(['1', '1000'])]
  }),
  leased: (draw) => ({ keys: [WORKERS.expiry, WORKERS.watched], args: [draw.pick(NUMBERS)] }),
  report: (draw) => ({
    keys: [REPORTS.texts, REPORTS.times],
    args: ['2000', ...draw.pick([[], [draw.pick(ORDERS), '{"a":1}'], [draw.pick(ORDERS), draw.pick(['{"b":2}', ''])]])],
    unordered: 'list'
  }),
  spend (draw) {
    const process = draw.pick(['x', 'y'])
    const budget = () => [
      draw.pick(['cacme', 'reacme', 'rpglobex']), draw.pick(['1', '60', '300']), draw.pick(['0', '1', '7.500', '40']),
      draw.pick(['0', '1', '5.250', '-2', '100'])
    ]
    return {
      keys: [TENANTS.seen, TENANTS.sums, TENANTS.tokens, TENANTS.of + process],
      args: draw.chance(0.1) ? [process, '1000', '60'] : [process, draw.pick(['1', '1000']), '60', ...draw.list(1, 3, budget).flat()]
    }
  }
}

/** @type {Calls} */
export const PEOPLE_CALLS = {
  users (draw) {
    const uids = draw.list(1, 3, () => draw.pick(UIDS))
    return {
      keys: uids.flatMap((uid) => [userWorkers(uid), userOrders(uid)]),
      args: [draw.pick(NUMBERS), draw.pick(['2', '60']), uids.map(() => draw.pick(['+', '+', '-'])).join('')]
    }
  },
  order (draw, { ms }) {
    const uid = draw.pick(UIDS)
    return {
      keys: [userWorkers(uid), userOrders(uid), userOrdered(uid)],
      args: [
        draw.pick(NAMES), draw.pick(['2', '60']), draw.pick(['0', '1', '2', '3']), 'r*', draw.pick(['', '', '1', '100', '0.5']),
        draw.pick(['', '', '1', String(ms), String(ms - 1000)]), draw.pick(NAMES), ...draw.list(0, 2, () => draw.pick(NAMES))
      ]
    }
  },
  tell: (draw) => ({
    keys: [workerOrders(1), workerChannel(1)], args: [
      draw.pick(ORDERS), 'message', draw.pick(['2', '60']), draw.pick(['1', '2', '100']), draw.pick(['', '1', '1'])
    ]
  }),
  ended (draw) {
    const uids = draw.list(1, 3, () => draw.pick(UIDS))
    return { keys: uids.map(userSeen), args: [draw.pick(['2', '60']), ...uids.map(() => draw.pick(['0', '9', '10', '1790000000000']))] }
  },
  devices (draw, { ms }) {
    const devices = draw.list(1, 4, () => draw.pick(['board', 'phone']))
    return {
      keys: devices.map((device) => userDevice('ada', device)),
      args: [
        draw.pick(['2', '60']), ...devices.flatMap(() => [
          draw.pick(['+', '+', '=', '-']), draw.pick(ORDERS), draw.pick(['0', '1', String(ms), String(ms + 5000)])
        ])
      ]
    }
  },
  session: (draw, { ms }) => ({
    keys: [clientSession('ada', 'board'), userDevice('ada', 'board')],
    args: [
      draw.pick(ORDERS), draw.pick(['0', '1', String(ms), String(ms + 5000)]), draw.pick(['', '[]']), draw.pick(['2', '60'])
    ]
  }),
  drop: (draw) => ({ keys: [workerOrders(1)], args: ['dropped', draw.pick(['2', '60'])] }),
  carried: (draw) => {
    const id = draw.pick(ORDERS)
    return { keys: [workerOrders(1), orderReport(1, id)], args: [id, String(draw.int(0, 3)), draw.pick(['2', '60'])] }
  },
  outcome: (draw) => {
    const id = draw.pick(ORDERS)
    return { keys: [workerOrders(1), orderReport(1, id)], args: [id] }
  },
  hold (draw) {
    const changes = draw.list(1, 4, () => ({
      change: draw.pick(['+', '+', '-', '=']) + draw.pick(['.', '.', '0', '1']), kind: draw.pick(['user', 'member', 'document'])
    }))
    return {
      keys: changes.map(({ kind }) => kind === 'user' ? userHolders('ada') : documentHolders('doc')),
      args: [
        draw.pick(HOLDERS), draw.pick(['1', '1', '0']), ...changes.map(({ change, kind }) =>
          change + (kind === 'member' ? `:${draw.pick(UIDS)}` : ''))
      ]
    }
  }
}

/** @type {Calls} */
export const REQUEST_CALLS = {
  receipt: (draw) => ({
    keys: [receiptParts('p1'), ...draw.pick([[], [receiptAnswer('p1', '1.100')], [receiptAnswer('p1', '2.200')]])],
    args: [
      draw.pick(NUMBERS), draw.pick(['', '1', '2', '{"delivered":1}', '{"delivered":2}']), draw.pick(['', '1']), draw.pick(['2', '60'])
    ],
    unordered: 'list'
  }),
  request: (draw) => ({
    keys: [requestState('r1')],
    args: [
      draw.pick(['f1', 'f1', 'f2', '*']), draw.pick(TOKENS), draw.pick(['1000', '5000']), draw.pick(['2', '900']),
      draw.pick(['p1', 'p2']), draw.pick(['500', '2000'])
    ]
  }),
  settle: (draw) => ({
    keys: [requestState('r1')],
    args: [
      draw.pick(['', '{"a":1}']), draw.pick(['f1', 'f2', '*']), draw.pick(['2', '900']), draw.pick(['p1', 'p2'])
    ]
  }),
  forget: (draw) => ({ keys: [requestState('r1')], args: [draw.pick(['p1', 'p2'])] })
}

/** @type {Calls} */
export const UPLINK_CALLS = {
  append (draw, { ms }) {
    const queued = draw.chance(0.5)
    return {
      keys: [UPLINK.log, UPLINK.meta, UPLINK.channel, queued ? uplinkQueueMarks('up', 0, 'doc', 'ada') : UPLINK.log],
      args: [
        draw.pick(['{}', '{"event":"a"}']), draw.pick(['', 'value', 'v'.repeat(20)]), draw.pick(['3', '12', '30']),
        draw.pick(['60', '500', '100000']),
        queued ? draw.mostly(0.03, () => `${draw.int(1, 20)} ${draw.pick(QUEUES)}`) : '', `${draw.int(1, 40)} ${draw.int(1, 3)}`,
        String(draw.pick([ms - 1000, ms, ms + 1, ms + 5000])), draw.pick(['500', '3000'])
      ]
    }
  },
  take: (draw) => ({
    keys: [UPLINK.log, UPLINK.meta],
    args: [
      draw.pick(GROUPS), draw.pick(HOLDERS), draw.pick(['1000', '3000']), draw.pick(['1', '3', '100']), draw.pick(['10', '100000']),
      draw.pick(['0', '0', '0', '0', '0', '1000'])
    ]
  }),
  done: (draw, { ms }) => ({
    keys: [UPLINK.log, UPLINK.meta],
    args: [
      draw.pick(GROUPS), draw.pick(HOLDERS), draw.mostly(0.03, () => `${ms + draw.int(-3000, 10)}-${draw.int(0, 3)} ${draw.int(0, 100)}`),
      ...draw.pick([GROUPS, ['one'], ['two', 'one']])
    ]
  }),
  release: (draw) => ({ keys: [UPLINK.meta], args: [draw.pick(GROUPS), draw.pick(HOLDERS)] })
}
