/**
 * A record to all members of a document on one worker, without the actual write: WebSockets that discard everything. A
 * time is that of the whole record; divide it by the members.
 */
import { Server } from 'socket.io'
import { systemClock } from '../../src/base/common/clock.js'
import { systemRandom } from '../../src/base/common/random.js'
import { Feed } from '../../src/documents/feed.js'
import { SocketIoConnection } from '../../src/gateway/socketio-connection.js'
import { Delivery } from '../../src/documents/delivery/delivery.js'
import { ratesOf } from '../../src/transport/admission/rate-limit.js'
import { TurnWrites } from '../../src/documents/delivery/turn-writes.js'
import { EngineSocket } from '../../src/transport/engine/engine-socket.js'
import { valueOf } from '../message.js'
import { UserBudget } from '../../src/transport/admission/user-budget.js'
import { META, publicationOf, runBenchmarks } from './run.js'

const MEMBERS = [100, 10_000]
const value = valueOf(1, 1, 1)
const nothing = () => {}

const rates = ratesOf({ eventRates: { all: 100 }, maxBytesPerSecond: 2 ** 20, maxRecordBytes: 2 ** 20 })
const connectionContext = {
  maxDocuments: 100,
  rates,
  budgetOf: () => new UserBudget(rates, 0),
  tally: { json: 0, msgpack: 0, bytes: 0 },
  clock: systemClock,
  random: systemRandom,
  turnWrites: new TurnWrites({ compressFrom: 0 }, systemClock),
  backlogs: /** @type {any} */ (null),
  receipts: { acknowledge: () => false },
  metrics: {},
  listMembers: nothing, lastSeenOf: () => 0
}

/** @type {any} discards everything */
const netSocket = { on () { return this }, write: nothing, writableLength: 0 }
const engineSocket = () => new EngineSocket('', /** @type {any} */ ({ maxBytes: 2 ** 20 }), /** @type {any} */ (null), netSocket)

/** @param {number} count members */
function inkcast (count) {
  const feed = new Feed(
    'document-1',
    /** @type {any} */ ({
      createDelivery: (/** @type {any} */ { publication, offset }) => new Delivery(publication, offset)
    })
  )
  for (let i = 0; i < count; i++) {
    const socket = /** @type {any} */ ({ id: `connection-${i}`, conn: engineSocket() })
    feed.members.add(
      new SocketIoConnection(socket, /** @type {any} */ ({ uid: `user-${i}` }), 'json', undefined, connectionContext)
    )
  }
  const record = { publication: publicationOf(value), epoch: '', offset: 0, ingestedAt: 0 }
  return () => {
    feed.receive(record)
    return new Promise(setImmediate)
  }
}

/** Socket.IO's own room. @param {number} count members */
function stock (count) {
  const io = new Server()
  const { sockets, adapter } = io.of('/')
  for (let i = 0; i < count; i++) {
    sockets.set(`connection-${i}`, /** @type {any} */ ({ client: { writeToEngine: nothing } }))
    adapter.addAll(`connection-${i}`, new Set(['document-1']))
  }
  return () => { io.to('document-1').emit('message', JSON.parse(String(value)), META) }
}

await runBenchmarks('One record to the members of a document', Object.fromEntries(MEMBERS.flatMap((count) => [
  [`feed, ${count} members`, inkcast(count)],
  [`stock room up to Engine.IO, ${count} members`, stock(count)]
])))
