import { createKeys } from '../../src/redis/keys.js'

const {
  documentChannel, documentHolders, documentKeys, documentLeft, documentLog, documentMeta, documentNewest,
  documentPresence, emptyEpoch, everyoneChannel: EVERYONE_CHANNEL, nodeMarker, orderReport, queueMarks, receiptAnswer,
  receiptParts, reports: REPORTS, tenants: TENANTS,
  requestState, sourceHealing, sourceMark, uplinkPart, uplinkQueueMarks, userDevice, userHolders, userOrdered,
  userOrders, userSeen, userWorkers, workerChannel, workerDocuments, workerOrders, workerPresence, workers: WORKERS
} = createKeys()

/** Few names, so that the steps of a sequence meet in the same keys. */
export const GUIDS = ['doc', 'd\xc3\xa9}']
export const UIDS = ['ada', 'ad', 'b\xc3\xb6b']
export const SOURCES = ['t/0', 't/0', 't/1']
export const IDS = ['c1', 'c2', 'c10', '7.c3']
export const QUEUES = ['q1', 'q2', 'q 3']
export const EPOCHS = ['E1', 'E2']
export const NUMBERS = ['0', '1', '2', '3']

export const EMPTY = emptyEpoch('n:aaaa')
export const UPLINK = uplinkPart('up', 0)

/** Keys by the type that inkcast has there. */
export const KEYS = {
  string: [
    EMPTY, 'inkcast:generation', ...SOURCES.flatMap((source) => [sourceMark(source), sourceHealing(source)]), userOrdered('ada'),
    orderReport(1, 'o1'), WORKERS.secret, WORKERS.watched,
    WORKERS.registry, WORKERS.doubted, nodeMarker('aaaa', '1.100')
  ],
  hash: [
    ...GUIDS.flatMap((guid) =>
      [
        documentMeta(guid), documentNewest(guid), queueMarks(guid, 'ada'), documentPresence(guid)[0], documentPresence(guid)[2],
        documentLeft(guid)[1],
        documentHolders(guid)
      ]), workerOrders(1),
    requestState('r1'), UPLINK.meta, uplinkQueueMarks('up', 0, 'doc', 'ada'), receiptParts('p1'),
    receiptAnswer('p1', '1.100'), receiptAnswer('p1', '2.200'),
    WORKERS.owners, WORKERS.slots, WORKERS.incarnations, WORKERS.settling, REPORTS.texts,
    TENANTS.sums, TENANTS.tokens, `${TENANTS.of}x`, `${TENANTS.of}y`,
    userHolders('ada')
  ],
  zset: [
    ...GUIDS.map(documentKeys), ...GUIDS.map((guid) => documentLeft(guid)[0]), userWorkers('ada'), userOrders('ada'),
    WORKERS.expiry, WORKERS.ended, WORKERS.unclean, REPORTS.times, TENANTS.seen
  ],
  // members are read in their order, which is that of Redis for equal scores only
  zset0: [...GUIDS.map((guid) => documentPresence(guid)[1]), workerDocuments('1.100')],
  list: [WORKERS.ending],
  set: [workerPresence(1)],
  stream: [...GUIDS.map(documentLog), UPLINK.log]
}

export const CHANNELS = [
  ...GUIDS.map(documentChannel), documentPresence('doc')[3], UPLINK.channel, workerChannel(1), EVERYONE_CHANNEL
]

/** Every key, of any type. */
export const ALL = Object.values(KEYS).flat()

/** Keys that scripts make besides. */
export const OTHERS = [
  ...UIDS.flatMap((uid) => [userWorkers(uid), userOrders(uid), userOrdered(uid), userSeen(uid)]),
  userDevice('ada', 'board'), userDevice('ada', 'phone'),
  ...['o1', 'o2', 'o3'].map((id) => orderReport(1, id))
]
